package import TransferModel

/// What stays in memory of a task that waits and is large: all else is in its row.
package struct EvictedTask: Sendable {
  let taskIdentifier: Int
  /// Its begin date may have come, and was told then.
  var hasBegun: Bool
  let hasStarted: Bool
  let hasBeginDate: Bool
  /// Of the machine that was evicted: what was read of the row before another change is recognized by that.
  let revision: Int

  /// Nil if the machine does not only wait.
  init?(_ machine: TaskMachine) {
    guard case .idle(let hasBegun) = machine.place, machine.upload.token == nil else { return nil }
    self.hasBegun = hasBegun
    taskIdentifier = machine.task.taskIdentifier
    hasStarted = machine.task.startedAt != nil
    hasBeginDate = machine.task.earliestBeginDate != nil
    revision = machine.revision
  }
}

/// A task that can be evicted, if nothing has changed it since.
package struct Eviction: Sendable, Equatable {
  package let task: TaskID
  let revision: Int

  /// Nil if the task is small, or does not only wait.
  /// - Parameter size: bytes of a small task.
  init?(of machine: TaskMachine, above size: Int) {
    guard case .idle = machine.place, machine.task.variableSize > size else { return nil }
    task = machine.task.id
    revision = machine.revision
  }
}

extension TransferTask {
  /// With the phase that its row leaves out: the one that a running task has if nothing else was told.
  package var withPhase: TransferTask {
    guard state == .running, phase == nil else { return self }
    var task = self
    task.phase = startedAt == nil ? .queued : .transferring
    return task
  }

  /// Bytes of what clients choose the length of, approximately.
  var variableSize: Int {
    let size = originalRequest.variableSize + (isAtOriginalRequest ? 0 : currentRequest.variableSize)
    let urls = (completion?.url.utf8.count ?? 0) + (preferences.delegate?.webhook?.url.utf8.count ?? 0)
    return size + urls + (description?.utf8.count ?? 0)
  }
}

extension TransferRequest {
  fileprivate var variableSize: Int {
    let fields = headers.fields.reduce(0) { $0 + $1.name.utf8.count + $1.value.utf8.count }
    return fields + url.utf8.count + (body?.data?.count ?? 0) + (mainDocumentURL?.utf8.count ?? 0)
  }
}

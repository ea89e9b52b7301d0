internal import HTTPFields
package import TransferModel

/// The part of an evicted task that stays in memory. The rest is in the task's row.
package struct EvictedTask: Sendable {
  let taskIdentifier: Int
  var beginning: TaskBeginning
  let hasBeginDate: Bool
  /// The loaded machine counts on from here, so that an eviction from before cannot match it.
  let revision: Int

  /// Nil if the machine does not only wait.
  init?(_ machine: TaskMachine) {
    guard machine.isIdle, machine.upload.token == nil else { return nil }
    beginning = machine.task.beginning
    taskIdentifier = machine.task.taskIdentifier
    hasBeginDate = machine.task.earliestBeginDate != nil
    revision = machine.revision
  }
}

/// A task that can be evicted, unless it has changed since.
package struct Eviction: Sendable, Equatable {
  package let task: TaskID
  let revision: Int

  /// Nil if the task is small, or does not only wait.
  /// - Parameter size: bytes of a small task.
  init?(of machine: TaskMachine, above size: Int) {
    guard machine.isIdle, machine.task.variableSize > size else { return nil }
    task = machine.task.id
    revision = machine.revision
  }
}

extension TransferTask {
  /// Approximate bytes of the texts and the body that clients chose.
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

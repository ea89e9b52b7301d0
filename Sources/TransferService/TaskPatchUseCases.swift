internal import Synchronization
internal import TransferCore
internal import TransferEngine
internal import TransferModel
internal import TransferStore

extension TransferService {
  /// Changes a task, where `isExpected` finds it as the client knows it.
  func patch(
    _ id: TaskID, _ patch: TaskPatch, if isExpected: @escaping @Sendable (TransferTask) -> Bool
  ) async throws(ServiceError) -> TransferTask {
    enum Result { case changed(TransferTask), mismatch, notLive }
    let result: Result = await withCheckedContinuation { continuation in
      registry.withLock { registry in
        registry.whenCreated(id) { [self] registry in
          guard let entry = registry.tasks[id], !entry.isEnding else {
            return continuation.resume(returning: .notLive)
          }
          guard isExpected(entry.task) else { return continuation.resume(returning: .mismatch) }
          let task = patch.applied(to: entry.task)
          registry.tasks[id]?.task = task
          var change = StoreChange()
          change.respecifiedTasks = [task]
          take(patch, of: task, &registry, &change)
          record(change) { continuation.resume(returning: .changed(task)) }
        }
      }
    }
    switch result {
    case .changed(let task): return task
    case .mismatch: throw .preconditionFailed
    case .notLive: break
    }
    await waitForEnd(of: id, seconds: 30)
    let ended = try await task(id)
    guard isExpected(ended) else { throw .preconditionFailed }
    var change = StoreChange()
    let task = patch.applied(to: ended)
    change.respecifiedTasks = [task]
    try await write(change)
    return task
  }

  /// What the change means for a task under way.
  private func take(
    _ patch: TaskPatch, of task: TransferTask, _ registry: inout TransferRegistry,
    _ change: inout StoreChange
  ) {
    let (carrier, session) = (carrier(of: task.sessionID), task.sessionID)
    if let priority = patch.priority {
      carrier.setPriority(priority, of: task.id, in: session, into: &change)
    }
    if let limit = patch.maximumBytesPerSecond {
      carrier.setLimit(limit, of: task.id, in: session, into: &change)
    }
    guard let date = patch.earliestBeginDate else { return }
    if registry.tasks[task.id]?.isSubmitted == true {
      carrier.setBeginDate(date, of: task.id, in: session, into: &change)
    }
    submit(task.id, &registry, &change)
  }
}

internal import Synchronization
internal import TransferCore
internal import TransferEngine
internal import TransferModel
internal import TransferStore

/// How a session of any size ends: in slices, each of which is one commit, and others take their turns between them.
extension TransferService {
  /// Tasks that are cancelled under one lock.
  private static let cancellationSlice = 512

  /// Cancels all tasks of a session that takes no others; returns when each of them was told so.
  func cancelTasks(of session: SessionID) async {
    var tasks = registry.withLock { registry in
      // Those that are being created are cancelled before they begin.
      registry.sessions[session]?.cancelsTasks = true
      return registry.tasksToCancel(in: session)
    }[...]
    while !tasks.isEmpty {
      let slice = tasks.prefix(Self.cancellationSlice)
      tasks = tasks.dropFirst(slice.count)
      await withCheckedContinuation { continuation in
        registry.withLock { cancel(slice, &$0) { continuation.resume() } }
      }
    }
  }

  /// Cancels tasks with one commit: a task that nobody carries out has ended with it.
  private func cancel(
    _ tasks: ArraySlice<TaskID>, _ registry: inout TransferRegistry, committed: @escaping @Sendable () -> Void
  ) {
    var batch = Batch()
    var stopped: [TransferTask] = []
    for id in tasks {
      guard let entry = registry.tasks[id], !entry.isEnding, entry.creation == nil,
        let session = registry.sessions[entry.task.sessionID]?.session
      else { continue }
      var task = entry.task
      guard task.lifecycle.cancel() == .cancel else { continue }
      task.phase = nil
      settle(id, .withdrawn, answer: nil, &registry, &batch.change)
      registry.tasks[id]?.task = task
      note([Self.stateEvent(of: task, at: now)], of: task, in: session, into: &batch.change)
      if entry.isSubmitted {
        batch.change.updatedTasks.append(task)
        stopped.append(task)
      } else {
        let outcome = task.outcome(.cancelled, "cancelled", at: now)
        if append(end: outcome, of: task, &registry, &batch.change) { batch.ended.append(id) }
      }
    }
    for task in stopped {
      carrier(of: task.sessionID).cancel(
        task.id, in: task.sessionID, keepsPartial: false, into: &batch.change)
    }
    let ended = batch.ended
    record(batch.change) { [self] in
      conclude(ended)
      committed()
    }
  }

  /// Deletes what the store has of an invalid session. Where that breaks off, the session is still there, and can be
  /// deleted again.
  /// - Parameter news: rows that go with it.
  func deleteRows(of session: SessionID, andNews news: [Int64]) async throws(ServiceError) {
    var change = StoreChange()
    change.thinnedSession = session
    do throws(StoreError) {
      while try await store.hasTasks(session) { try await store.write(change) }
    } catch {
      throw .store(error)
    }
    change.thinnedSession = nil
    change.deletedSession = session
    change.takenNews = news.map { $0...$0 }
    try await write(change)
  }
}

internal import BlobStore
internal import Ledger
internal import TransferCore
internal import TransferModel

/// Deletes tasks at a client's request.
struct TaskDeletion: Sendable {
  let bodies: Bodies

  private var runtime: SessionRuntime { bodies.runtime }

  /// Deletes an ended task with its body, decisions and events. Messages that are not delivered yet are still sent.
  func delete(_ task: TransferTask) async throws(ServiceError) {
    // The end may be visible shortly before its commit.
    if runtime.task(task.id)?.isEnding == true {
      await bodies.tasks.waitForEnd(of: task.id, seconds: Tasks.waitLimit)
    }
    guard task.state == .completed else { throw .taskNotFinished(task.state) }
    var change = LedgerChange()
    change.deletedTasks = [task.id]
    change.owner = task.sessionID
    try await runtime.recorder.write(change)
    // After the commit. If the process dies before this, the orphan collector finds files without a row.
    await bodies.blobs(of: task.sessionID).delete(task.allKeys, on: runtime.pool)
  }
}

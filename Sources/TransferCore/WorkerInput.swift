package import TransferModel

/// What the machine of the process that carries background tasks out is told.
package enum WorkerInput: Sendable {
  // MARK: The service

  /// A task is handed over, as its row is now. A large session is passed along, as read from its row.
  case submit(TransferTask, in: TransferSession?)
  case command(TaskCommand, TaskID)
  case forget(SessionID)
  /// Something that concerns no task is to be done in its place among the orders, under the number that its giver knows it by.
  case aside(Int)

  // MARK: The engine, clocks, commits

  case fact(TransferFact)
  /// A begin date, or the time of the next attempt, may have come.
  case due(TaskID)
  /// An attempt has lived for a while.
  case survived(TaskID, attempt: Int)
  /// That an attempt has begun is on the disk.
  case written(TaskID, attempt: Int)
  /// The machine has less to do, or a window of the operator's has opened or closed.
  case review

  // MARK: Life

  /// The earlier process died by its own fault.
  case wasCrash
  case session(TransferSession)
  /// A task that an earlier process left, with its whole session. Its partial files were checked.
  /// - Parameter hasCrashed: the earlier process died by its own fault, and perhaps by this task.
  case recovered(TransferTask, in: TransferSession, WorkState, hasCrashed: Bool)
  /// A row of a task that is gone.
  case orphaned(TaskID)
  /// All of those were told, and what was asked for meanwhile.
  case started
  /// Stops every transfer, each with what it has got on the disk and in its row, so that another process goes on from there.
  case drain
}

package import TransferModel

/// The inputs of the worker's machine.
package enum WorkerInput: Sendable {
  // MARK: Service

  /// Submits a task as read from its row. A large session is passed along, as read from its row.
  case submit(TransferTask, in: TransferSession?)
  case command(TaskCommand, TaskID)
  case releaseSession(SessionID)
  /// Queues a command that concerns no task, in its place among the commands to the engine. The number identifies it to its sender.
  case sessionCommand(Int)

  // MARK: Engine, clocks, commits

  case fact(TransferFact)
  /// Reports that a begin date, or the time of the next attempt, may have come.
  case retryDue(TaskID)
  /// Reports that an attempt has run for long enough to be cleared of suspicion.
  case crashWindowPassed(TaskID, attempt: Int)
  /// Reports that the start of an attempt is on disk.
  case attemptCommitted(TaskID, attempt: Int)
  /// Checks again whether discretionary tasks may run: there is less to do, or one of the operator's time windows has opened or closed.
  case review

  // MARK: Start and stop

  /// Reports that the earlier worker crashed.
  case wasCrash
  case session(TransferSession)
  /// Adds a task that an earlier worker left, with its whole session. Its partial files were checked.
  /// - Parameter hasCrashed: Whether the earlier worker crashed, possibly because of this task.
  case recovered(TransferTask, in: TransferSession, WorkState, hasCrashed: Bool)
  /// Reports a row whose task is gone.
  case orphaned(TaskID)
  /// Reports that all sessions and tasks, and all pending commands, were passed to the machine.
  case started
  /// Stops every transfer and keeps its bytes on disk and in its row, so that another worker can continue.
  case drain
}

package import TransferModel

/// What the engine, or the worker, must do for a session.
package enum Order: Sendable {
  /// Starts the task as it is now.
  case submit(TransferTask)
  case command(TaskCommand, TaskID)
  /// Closes the connections of a session that has no more tasks.
  case forgetSession

  /// nil: the order concerns the whole session.
  package var task: TaskID? {
    switch self {
    case .submit(let task): task.id
    case .command(_, let task): task
    case .forgetSession: nil
    }
  }

  /// Its request must not be sent twice unnoticed (RFC 9110 §9.2.2): the order waits until its cause is on disk.
  package var mustBeKnown: Bool {
    if case .submit(let task) = self { !task.currentRequest.isIdempotent } else { false }
  }
}

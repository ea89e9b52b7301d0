package import TransferModel

/// An order of a session for the engine or the worker.
package enum Order: Sendable {
  /// Starts the task as it is now.
  case submit(TransferTask)
  case command(TaskCommand, TaskID)
  /// Releases an invalidated session: aborts leftover transfers and closes its connections.
  case forgetSession

  /// nil: the order concerns the whole session.
  package var task: TaskID? {
    switch self {
    case .submit(let task): task.id
    case .command(_, let task): task
    case .forgetSession: nil
    }
  }

  /// Submits a request that is not idempotent. The order waits until the change that caused it is on disk, so that after a crash Ferry
  /// knows that the request may have been sent (RFC 9110 §9.2.2).
  package var mustBeKnown: Bool {
    if case .submit(let task) = self { !task.currentRequest.isIdempotent } else { false }
  }
}

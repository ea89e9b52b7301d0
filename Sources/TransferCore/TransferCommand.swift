package import TransferModel

/// A command of a session for the engine or the worker.
package enum TransferCommand: Sendable {
  /// Starts the task in its current form.
  case submit(TransferTask)
  case command(TaskCommand, TaskID)
  /// Releases an invalidated session: aborts leftover transfers and closes its connections.
  case releaseSession

  /// The task; `nil` if the command concerns the whole session.
  package var task: TaskID? {
    switch self {
    case .submit(let task): task.id
    case .command(_, let task): task
    case .releaseSession: nil
    }
  }

  /// Whether the command submits a request that is not idempotent. Such a command waits until its cause is on disk. After a crash, Ferry
  /// then knows that the request may have been sent (RFC 9110 §9.2.2).
  package var waitsForCommit: Bool {
    if case .submit(let task) = self { !task.currentRequest.isIdempotent } else { false }
  }
}

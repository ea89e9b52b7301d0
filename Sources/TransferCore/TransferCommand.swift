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

  /// Whether the command waits until its cause is on disk. One case is a request that is not idempotent: after a crash, Ferry then knows that
  /// the request may have been sent (RFC 9110 §9.2.2). The other is an attempt that may crash the service: the next one must count it.
  package var waitsForCommit: Bool {
    guard case .submit(let task) = self else { return false }
    return !task.currentRequest.isIdempotent || task.retryProgress?.deaths ?? 0 > 0
  }
}

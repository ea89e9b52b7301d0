package import TransferModel

/// The reason why a finished task has no body.
package enum BodyAbsence: Sendable, Equatable {
  /// The task became a download task, which has the bytes.
  case becameDownload(TaskID)
  /// The ephemeral session was invalidated, which deleted its bodies.
  case sessionEnded
  case expired
  case cancelled
  /// The task failed. The value is the name of its error.
  case failed(String)
  /// A client deleted the body, or moved it to a stored file.
  case removed
  /// The file at the task's destination was changed, moved or deleted.
  case changed(String)
  /// The task's row has a body, but the file is missing.
  case lost

  /// - Parameters:
  ///   - retention: how long the session keeps bodies, in seconds.
  ///   - hasSessionEnded: whether the session is ephemeral and invalid.
  init(of task: TransferTask, retention: Double, hasSessionEnded: Bool, now: Timestamp) {
    if let download = task.downloadTask {
      self = .becameDownload(download)
    } else if hasSessionEnded {
      self = .sessionEnded
    } else if let body = task.body {
      let isExpired = body.expiresAt.map { $0 <= now } ?? false
      self = body.placed.map { .changed($0.file) } ?? (isExpired ? .expired : .lost)
    } else if let error = task.error {
      self = error.reason == .url(.cancelled) ? .cancelled : .failed(error.name)
    } else if let end = task.completedAt, end.adding(seconds: retention) <= now {
      self = .expired
    } else {
      self = .removed
    }
  }
}

extension BodyAbsence: CustomStringConvertible {
  package var description: String {
    switch self {
    case .becameDownload(let id): "the task became the download \(id), which has the body"
    case .sessionEnded: "the ephemeral session has ended, and its bodies are deleted"
    case .expired: "the body has expired"
    case .cancelled: "the task was cancelled"
    case .failed(let name): "the task failed: \(name)"
    case .removed: "the body was deleted, or moved to a file"
    case .changed(let file): "the file \(file) was changed, moved or deleted after the download"
    case .lost: "the body's file is missing on the disk"
    }
  }
}

package import TransferModel

/// Why a finished task has no body.
package enum BodyAbsence: Sendable, Equatable {
  /// A data task's bytes belong to the download that it became.
  case becameDownload(TaskID)
  /// The ephemeral session has ended, and its bytes with it.
  case sessionEnded
  case expired
  case cancelled
  /// The name of the task's error.
  case failed(String)
  /// By a client: deleted, or moved to a stored file.
  case removed
  /// The task's row has a body, and the disk does not.
  case lost

  /// - Parameters:
  ///   - retention: seconds for which the session keeps bodies.
  ///   - hasSessionEnded: it was ephemeral, and is invalid.
  init(of task: TransferTask, retention: Double, hasSessionEnded: Bool, now: Timestamp) {
    if let download = task.downloadTask {
      self = .becameDownload(download)
    } else if hasSessionEnded {
      self = .sessionEnded
    } else if let body = task.body {
      self = body.expiresAt <= now ? .expired : .lost
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
    case .lost: "the body's file is missing on the disk"
    }
  }
}

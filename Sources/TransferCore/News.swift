package import TransferModel

/// What whoever carries tasks out has to tell of one.
package enum News: Sendable {
  /// What its engine tells.
  case fact(TransferFact)
  /// As the fact of a question, by a process of an earlier version, which gave its questions no numbers.
  case challenged(TaskID, AuthenticationChallenge, EventType, at: Timestamp)
  /// An attempt failed; there will be another.
  /// - Parameter wait: nil if a worker of an earlier version reported the failure.
  case retries(TaskID, count: Int, at: Timestamp, wait: RetryWait?)
  /// The begin date has come where the task is carried out.
  case beganDelayed(TaskID, at: Timestamp)
  /// Whoever carried it out is gone, and it goes on from what is on the disk.
  case wasTakenOver(TaskID, at: Timestamp)

  package var task: TaskID {
    switch self {
    case .fact(let fact): fact.task
    case .challenged(let task, _, _, _), .retries(let task, _, _, _), .beganDelayed(let task, _),
      .wasTakenOver(let task, _):
      task
    }
  }
}

package import TransferModel

/// What whoever carries tasks out has to tell of one.
package enum News: Sendable {
  /// What its engine tells.
  case fact(TransferFact)
  /// An attempt failed; there will be another.
  case retries(TaskID, count: Int, at: Timestamp, wait: RetryWait)
  /// The begin date has come where the task is carried out.
  case beganDelayed(TaskID, at: Timestamp)
  /// Whoever carried it out is gone, and it goes on from what is on the disk.
  case wasTakenOver(TaskID, at: Timestamp)

  package var task: TaskID {
    switch self {
    case .fact(let fact): fact.task
    case .retries(let task, _, _, _), .beganDelayed(let task, _),
      .wasTakenOver(let task, _):
      task
    }
  }
}

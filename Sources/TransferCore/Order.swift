package import TransferModel

/// What whoever carries a session's tasks out is to do.
package enum Order: Sendable {
  /// Begins with the task as it is now.
  case submit(TransferTask)
  case suspend(TaskID)
  case resume(TaskID)
  /// - Parameter keepsPartial: what a download has got is kept for resume data, where it can go on.
  case cancel(TaskID, keepsPartial: Bool)
  /// Answers a question of the task; where it is not the one that the task waits for now, nothing happens.
  /// - Parameter question: the number that it was asked under; nil: by a process that gave none.
  case answer(TaskID, to: Int?, TransferAnswer)
  case setPriority(TaskID, Double)
  /// - Parameter bytesPerSecond: nil: no limit of its own.
  case setLimit(TaskID, bytesPerSecond: Int?)
  /// A task that was submitted before its time may begin at another; nil: at once.
  case setBeginDate(TaskID, Timestamp?)
  /// Closes the connections of a session that has no more tasks.
  case forgetSession

  /// nil: it is for the session.
  package var task: TaskID? {
    switch self {
    case .submit(let task): task.id
    case .suspend(let task), .resume(let task), .cancel(let task, _), .answer(let task, _, _),
      .setPriority(let task, _), .setLimit(let task, _), .setBeginDate(let task, _):
      task
    case .forgetSession: nil
    }
  }

  /// It sends what must not be sent twice unseen (RFC 9110 §9.2.2): once that is on the disk of which it comes.
  package var mustBeKnown: Bool {
    if case .submit(let task) = self { !task.currentRequest.isIdempotent } else { false }
  }
}

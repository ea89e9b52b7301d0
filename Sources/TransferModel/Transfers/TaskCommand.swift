/// A command for the transfer of a task. The service gives it to its own engine, or stores it for the worker.
package enum TaskCommand: Sendable {
  /// URLSessionTask.suspend()
  case suspend
  /// URLSessionTask.resume()
  case resume
  /// URLSessionTask.cancel()
  /// - Parameter keepsPartial: the received bytes of a download are kept for resume data if it can be resumed.
  case cancel(keepsPartial: Bool)
  /// URLSessionTask.priority, 0 to 1.
  case setPriority(Double)
  /// - Parameter bytesPerSecond: `nil` if the task has no limit of its own.
  case setLimit(bytesPerSecond: Int?)
  /// URLSessionTask.earliestBeginDate; `nil` starts the task at once. Only background tasks, which the worker runs, can wait for it.
  case setBeginDate(Timestamp?)
  /// Starts the next attempt now, if the task waits for it.
  case retryNow
  /// Changes the request of the attempts that follow. An attempt that may be repeated stops, and the next one continues its bytes.
  indirect case changeRequest(RequestChange)
  /// Answers a decision. Ignored unless the transfer is waiting for this decision.
  /// - Parameter question: the decision's number within the task.
  case answer(TransferAnswer, question: Int)
}

package import TransferEngine
package import TransferModel
package import TransferStore

/// Who carries the tasks of a session out: the engine of this process, or another process.
///
/// The engine acts at once. What another process is to do becomes commands in `change`, which whoever calls writes: so a command is
/// committed with what it is about, and never lands in somebody else's change.
package protocol TransferCarrier: Sendable {
  func submit(_ jobs: [TransferJob], into change: inout StoreChange)
  func suspend(_ task: TaskID, in session: SessionID, into change: inout StoreChange)
  func resume(_ task: TaskID, in session: SessionID, into change: inout StoreChange)
  /// - Parameter keepsPartial: what a download has got is kept for resume data, where it can go on.
  func cancel(_ task: TaskID, in session: SessionID, keepsPartial: Bool, into change: inout StoreChange)
  /// Answers a question of the task; where it is not the one that the task waits for now, nothing happens.
  /// - Parameter question: the number that it was asked under; nil: by a process that gave none.
  func answer(
    _ task: TaskID, in session: SessionID, to question: Int?, _ answer: TransferAnswer,
    into change: inout StoreChange)
  func setPriority(_ priority: Double, of task: TaskID, in session: SessionID, into change: inout StoreChange)
  func setLimit(
    _ bytesPerSecond: Int?, of task: TaskID, in session: SessionID, into change: inout StoreChange)
  /// A task that was submitted before its time may begin at another; nil: at once.
  func setBeginDate(
    _ date: Timestamp?, of task: TaskID, in session: SessionID, into change: inout StoreChange)
  /// Forgets whom a session has let in and was let in by; requests from here on open new connections.
  func reset(_ session: SessionID, into change: inout StoreChange, done: @escaping @Sendable () -> Void)
  /// Closes a session's idle connections.
  func flush(_ session: SessionID, into change: inout StoreChange, done: @escaping @Sendable () -> Void)
  /// Closes the connections of a session that has no more tasks.
  func forget(_ session: SessionID, into change: inout StoreChange)
}

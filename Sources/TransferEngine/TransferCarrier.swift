package import TransferModel

/// Who carries the tasks of a session out: the engine of this process, or another process.
package protocol TransferCarrier: Sendable {
  func submit(_ jobs: [TransferJob])
  func suspend(_ task: TaskID, in session: SessionID)
  func resume(_ task: TaskID, in session: SessionID)
  /// - Parameter keepsPartial: what a download has got is kept for resume data, where it can go on.
  func cancel(_ task: TaskID, in session: SessionID, keepsPartial: Bool)
  /// Answers what the task asked last; an answer to another question does nothing.
  func answer(_ task: TaskID, in session: SessionID, _ answer: TransferAnswer)
  func setPriority(_ priority: Double, of task: TaskID, in session: SessionID)
  func setLimit(_ bytesPerSecond: Int?, of task: TaskID, in session: SessionID)
  /// A task that was submitted before its time may begin at another; nil: at once.
  func setBeginDate(_ date: Timestamp?, of task: TaskID, in session: SessionID)
  /// A client keeps a credential in a session.
  func keep(_ credential: Credential, for space: ProtectionSpace, in session: SessionID)
  /// Credentials of a session were taken away: what was remembered of them goes.
  func forgetCredentials(of session: SessionID, for spaces: [ProtectionSpace])
  /// Forgets whom a session has let in and was let in by; requests from here on open new connections.
  func reset(_ session: SessionID, done: @escaping @Sendable () -> Void)
  /// Closes a session's idle connections.
  func flush(_ session: SessionID, done: @escaping @Sendable () -> Void)
  /// Closes the connections of a session that has no more tasks.
  func forget(_ session: SessionID)
  /// The body of a data task that is under way; nil where it cannot be read yet.
  func liveBody(of task: TaskID, in session: SessionID) -> LiveBody?
}

extension TransferEngine: TransferCarrier {
  /// Tasks come here when their time has come.
  package func setBeginDate(_ date: Timestamp?, of task: TaskID, in session: SessionID) {}

  package func keep(_ credential: Credential, for space: ProtectionSpace, in session: SessionID) {
    credentials.set(credential, for: space, in: session)
    forgetCredentials(of: session, for: [space])
  }
}

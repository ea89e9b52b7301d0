package import HTTPCache
package import TransferEngine
package import TransferModel
package import TransferStore

/// Who carries tasks out in the process that asks, at once, and what sessions remember there: the engine.
///
/// What it has to tell comes as facts, by the relay that service or worker connects itself to.
package protocol LocalCarrier: TransferCarrier {
  var credentials: CredentialStorage { get }
  var cookies: CookieStorage { get }
  var memoryFiles: MemoryFiles { get }
  /// nil: no session has a cache.
  var caches: CacheStorage? { get }

  func submit(_ jobs: [TransferJob])
  func suspend(_ task: TaskID, in session: SessionID)
  func resume(_ task: TaskID, in session: SessionID)
  func cancel(_ task: TaskID, in session: SessionID, keepsPartial: Bool)
  func answer(_ task: TaskID, in session: SessionID, to question: Int, _ answer: TransferAnswer)
  func setPriority(_ priority: Double, of task: TaskID, in session: SessionID)
  func setLimit(_ bytesPerSecond: Int?, of task: TaskID, in session: SessionID)
  func reset(_ session: SessionID, done: @escaping @Sendable () -> Void)
  func flush(_ session: SessionID, done: @escaping @Sendable () -> Void)
  func forget(_ session: SessionID)

  /// Credentials of a session were taken away, or replaced: what was remembered of them goes.
  func forgetCredentials(of session: SessionID, for spaces: [ProtectionSpace])
  /// A session's cache; nil where it has none.
  func cache(of session: TransferSession) -> ResponseCache?
  /// Where a session's bodies are.
  func bodies(of session: SessionID, _ type: SessionType) -> BodyDirectory
  /// The body of a data task that is under way.
  func liveBody(of task: TaskID, in session: SessionID) -> LiveBody?
  /// Tries whether an origin can be reached now.
  func reach(_ url: String, timeout: Duration) async throws(TransferError) -> Reachability
  /// Runs what waits for a disk.
  func onPool(_ work: @escaping @Sendable () -> Void)
  /// Calls `done` once what carries the transfers out has come round.
  func ping(_ done: @escaping @Sendable () -> Void)
}

extension TransferEngine: LocalCarrier {}

extension LocalCarrier {
  func keep(_ credential: Credential, for space: ProtectionSpace, in session: SessionID) {
    credentials.set(credential, for: space, in: session)
    forgetCredentials(of: session, for: [space])
  }
}

// It acts at once: nothing of it is to be written.
extension LocalCarrier {
  package func submit(_ jobs: [TransferJob], into change: inout StoreChange) { submit(jobs) }
  package func suspend(_ task: TaskID, in session: SessionID, into change: inout StoreChange) {
    suspend(task, in: session)
  }
  package func resume(_ task: TaskID, in session: SessionID, into change: inout StoreChange) {
    resume(task, in: session)
  }
  package func cancel(
    _ task: TaskID, in session: SessionID, keepsPartial: Bool, into change: inout StoreChange
  ) {
    cancel(task, in: session, keepsPartial: keepsPartial)
  }
  /// It numbers all that it asks.
  package func answer(
    _ task: TaskID, in session: SessionID, to question: Int?, _ answer: TransferAnswer,
    into change: inout StoreChange
  ) {
    if let question { self.answer(task, in: session, to: question, answer) }
  }
  package func setPriority(
    _ priority: Double, of task: TaskID, in session: SessionID, into change: inout StoreChange
  ) {
    setPriority(priority, of: task, in: session)
  }
  package func setLimit(
    _ bytesPerSecond: Int?, of task: TaskID, in session: SessionID, into change: inout StoreChange
  ) {
    setLimit(bytesPerSecond, of: task, in: session)
  }
  /// Tasks come here when their time has come.
  package func setBeginDate(
    _ date: Timestamp?, of task: TaskID, in session: SessionID, into change: inout StoreChange
  ) {}
  package func reset(
    _ session: SessionID, into change: inout StoreChange, done: @escaping @Sendable () -> Void
  ) {
    reset(session, done: done)
  }
  package func flush(
    _ session: SessionID, into change: inout StoreChange, done: @escaping @Sendable () -> Void
  ) {
    flush(session, done: done)
  }
  package func forget(_ session: SessionID, into change: inout StoreChange) { forget(session) }
}

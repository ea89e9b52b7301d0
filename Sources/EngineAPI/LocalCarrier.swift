package import BlobStore
package import HTTPCache
package import TransferModel

/// Who carries tasks out in the process that asks, at once, and what sessions remember there: the engine.
///
/// What it has to tell comes as facts, by the relay that service or worker connects itself to.
package protocol LocalCarrier: Sendable {
  var storages: SessionStorages { get }
  var memoryFiles: MemoryFiles { get }
  /// nil: no session has a cache.
  var caches: CacheStorage? { get }

  func submit(_ jobs: [TransferJob])
  /// Has no effect on a task that was not submitted or has ended.
  func perform(_ command: TaskCommand, on task: TaskID, in session: SessionID)
  /// Forgets whom a session has let in and was let in by; requests from here on open new connections.
  func reset(_ session: SessionID, done: @escaping @Sendable () -> Void)
  /// Closes a session's idle connections.
  func flush(_ session: SessionID, done: @escaping @Sendable () -> Void)
  /// Closes the connections of a session that has no more tasks.
  func forget(_ session: SessionID)

  /// Credentials of a session were taken away, or replaced: what was remembered of them goes.
  func forgetCredentials(of session: SessionID, for spaces: [ProtectionSpace])
  /// A session's cache; nil where it has none.
  func cache(of session: TransferSession) -> ResponseCache?
  /// Where a session's bodies are.
  func bodies(of session: SessionID, _ type: SessionType) -> any BlobStore
  /// The body of a data task that is under way.
  func liveBody(of task: TaskID, in session: SessionID) -> LiveBody?
  /// Tries whether an origin can be reached now.
  func reach(_ url: String, timeout: Duration) async throws(TransferError) -> Reachability
  /// Runs what waits for a disk.
  func onPool(_ work: @escaping @Sendable () -> Void)
  /// Calls `done` once what carries the transfers out has come round.
  func ping(_ done: @escaping @Sendable () -> Void)
}

extension LocalCarrier {
  package var credentials: CredentialStorage { storages.credentials }
  package var cookies: CookieStorage { storages.cookies }
}

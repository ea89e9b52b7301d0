package import BlobStore
package import HTTPCache
package import TransferModel

/// The engine that runs tasks in this process, with its sessions' cookies, credentials and caches.
///
/// The engine reports facts through a callback that the service or worker connects.
package protocol TransferExecuting: Sendable {
  var storages: SessionStorageLoader { get }
  var memoryFiles: MemoryFiles { get }
  /// `nil` if no session has a cache.
  var caches: CacheStorage? { get }

  func submit(_ jobs: [TransferJob])
  /// Performs a command. Does nothing if the task was not submitted or has ended.
  func perform(_ command: TaskCommand, on task: TaskID, in session: SessionID)
  /// Drops a session's remembered credentials and trusted certificates; later requests open new connections (URLSession.reset).
  func reset(_ session: SessionID, done: @escaping @Sendable () -> Void)
  /// Closes a session's idle connections (URLSession.flush).
  func flush(_ session: SessionID, done: @escaping @Sendable () -> Void)
  /// Closes the connections of a session whose tasks have all ended.
  func releaseSession(_ session: SessionID)

  /// Drops the remembered authentication of credentials that were deleted or replaced.
  func forgetCredentials(of session: SessionID, for spaces: [ProtectionSpace])
  /// Returns a session's cache; `nil` if it has none.
  func cache(of session: TransferSession) -> ResponseCache?
  /// Returns the blob store of a session's bodies.
  func bodies(of session: SessionID, _ type: SessionType) -> any BlobStore
  /// Returns the body of a running data task.
  func liveBody(of task: TaskID, in session: SessionID) -> LiveBody?
  /// Returns whether an origin can be reached now.
  func probe(_ url: String, timeout: Duration) async throws(TransferError) -> Reachability
  /// Runs work that may block on a disk.
  func onPool(_ work: @escaping @Sendable () -> Void)
  /// Calls `done` after the engine has handled the calls that were made before.
  func ping(_ done: @escaping @Sendable () -> Void)
}

extension TransferExecuting {
  package var credentials: CredentialStorage { storages.credentials }
  package var cookies: CookieStorage { storages.cookies }
}

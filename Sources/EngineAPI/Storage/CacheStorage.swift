package import BlobStore
package import EventLoop
package import HTTPCache
internal import Synchronization
package import TransferModel

/// The caches of sessions, one for each (URLCache). May be used on any thread.
package final class CacheStorage: Sendable {
  private let directory: String?
  private let pool: ThreadPool
  private let now: @Sendable () -> Timestamp
  private let caches = Mutex<[SessionID: ResponseCache]>([:])

  /// - Parameter directory: The directory of the caches on disk, with a directory for each session; `nil` for caches in memory only.
  package init(
    directory: String?, pool: ThreadPool,
    now: @escaping @Sendable () -> Timestamp = { Timestamp(microseconds: WallClock.microseconds()) }
  ) {
    self.directory = directory
    self.pool = pool
    self.now = now
  }

  /// Returns a session's cache, and opens it if necessary; `nil` if the session has none.
  /// - Parameters:
  ///   - files: The memory quota in which an ephemeral session's cache counts.
  ///   - post: Runs a closure on the session's transfer loop.
  package func cache(
    of session: SessionID, _ type: SessionType, _ capacities: CacheCapacities,
    countingIn files: MemoryFiles, post: @escaping ResponseCache.Post
  ) -> ResponseCache? {
    guard capacities != .none, type != .background else { return nil }
    return caches.withLock { caches in
      if let open = caches[session] { return open }
      let place = type == .ephemeral ? nil : directory.map { "\($0)/\(session)" }
      let count: ResponseCache.Count = { bytes, mustFit in
        files.count(bytes, as: "cache", of: session, mustFit: mustFit)
      }
      let cache = ResponseCache(
        directory: place, memoryCapacity: Int64(capacities.memoryCapacity),
        diskCapacity: Int64(capacities.diskCapacity), pool: pool, count: type == .ephemeral ? count : nil,
        post: post, now: now)
      caches[session] = cache
      return cache
    }
  }

  /// Closes a session's cache without deleting it, because the session now belongs to another process.
  package func close(_ session: SessionID) { caches.withLock { $0[session] = nil } }

  /// Deletes the cache of a session that has ended.
  package func forget(_ session: SessionID) {
    let open = caches.withLock { $0.removeValue(forKey: session) }
    // The pool runs calls that block.
    let remove: @Sendable () -> Void = { [self] in pool.submit { self.remove(session) } }
    if let open { open.removeAll(done: remove) } else { remove() }
  }

  /// Deletes the caches of sessions that no longer exist.
  package func removeOrphans(keeping sessions: Set<SessionID>) {
    guard let directory else { return }
    _ = Disk.mkdir(directory)
    for name in Disk.names(in: directory) {
      guard let session = SessionID(name), !sessions.contains(session) else { continue }
      remove(session)
    }
  }

  private func remove(_ session: SessionID) {
    guard let directory else { return }
    let place = "\(directory)/\(session)"
    for name in Disk.names(in: place) { _ = Disk.unlink("\(place)/\(name)") }
    _ = Disk.rmdir(place)
  }
}

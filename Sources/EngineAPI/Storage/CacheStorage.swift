package import BlobStore
package import EventLoop
package import HTTPCache
internal import Synchronization
package import TransferModel

/// The caches of sessions, each with one of its own (URLCache). From any thread.
package final class CacheStorage: Sendable {
  private let directory: String?
  private let pool: WorkerPool
  private let now: @Sendable () -> Timestamp
  private let caches = Mutex<[SessionID: ResponseCache]>([:])

  /// - Parameter directory: where those on disk lie, each in a directory of its session's name; nil: in memory only.
  package init(
    directory: String?, pool: WorkerPool,
    now: @escaping @Sendable () -> Timestamp = { Timestamp(microseconds: WallClock.microseconds()) }
  ) {
    self.directory = directory
    self.pool = pool
    self.now = now
  }

  /// A session's cache, opened where it is not; nil where it has none.
  /// - Parameter files: where an ephemeral session's counts.
  /// - Parameter post: runs a closure on the loop of the session's worker.
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

  /// The session is another process's from here on, and so is what lies on the disk.
  package func close(_ session: SessionID) { caches.withLock { $0[session] = nil } }

  /// Drops what a session had: it is over.
  package func forget(_ session: SessionID) {
    let open = caches.withLock { $0.removeValue(forKey: session) }
    // What blocks is the pool's.
    let remove: @Sendable () -> Void = { [self] in pool.submit { self.remove(session) } }
    if let open { open.removeAll(done: remove) } else { remove() }
  }

  /// Drops what sessions left that are no more.
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

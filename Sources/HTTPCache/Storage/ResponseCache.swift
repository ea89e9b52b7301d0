package import EventLoop
internal import JSON
internal import Synchronization
package import TransferModel

/// The private cache of one session. Metadata are in memory; bodies are in memory and on disk. Entries are evicted in order of last use.
///
/// The cache serves one loop and never blocks it. A serial queue of the pool accesses files and posts the results to the loop. Any thread
/// may read `usage` or end a lease, so a mutex protects all state.
package final class ResponseCache: Sendable {
  package typealias Post = @Sendable (@escaping @Sendable () -> Void) -> Void
  /// Counts the bytes that the cache keeps in memory. If `mustFit` is true and there is no room, it returns `false`.
  package typealias Count = @Sendable (_ bytes: Int64, _ mustFit: Bool) -> Bool

  private struct State {
    var index: CacheIndex
    var isReady: Bool
    /// Actions that wait until the stored entries have been read.
    var waiting: [@Sendable () -> Void] = []
  }
  private let state: Mutex<State>
  private let disk: CacheDisk?
  private let lane: SerialQueue
  private let pool: ThreadPool
  private let count: Count?
  private let post: Post
  private let now: @Sendable () -> Timestamp

  /// Opens a cache.
  /// - Parameters:
  ///   - directory: the cache's own directory; `nil` for a cache in memory only.
  ///   - count: counts the cache's memory in a shared budget; `nil` for no such budget.
  ///   - post: runs a closure on the loop.
  package convenience init(
    directory: String?, memoryCapacity: Int64, diskCapacity: Int64, pool: ThreadPool, count: Count? = nil,
    post: @escaping Post,
    now: @escaping @Sendable () -> Timestamp = { Timestamp(microseconds: WallClock.microseconds()) }
  ) {
    self.init(
      disk: directory.map { CacheDisk(directory: $0) }, memoryCapacity: memoryCapacity,
      diskCapacity: diskCapacity, pool: pool, count: count, post: post, now: now)
  }

  init(
    disk: CacheDisk?, memoryCapacity: Int64, diskCapacity: Int64, pool: ThreadPool, count: Count? = nil,
    post: @escaping Post, now: @escaping @Sendable () -> Timestamp
  ) {
    let disk = diskCapacity > 0 ? disk : nil
    let index = CacheIndex(memoryCapacity: memoryCapacity, diskCapacity: disk.map { _ in diskCapacity })
    state = Mutex(State(index: index, isReady: disk == nil))
    self.disk = disk
    self.pool = pool
    self.count = count
    self.post = post
    self.now = now
    lane = SerialQueue(pool: pool)
    guard let disk else { return }
    lane.submit {
      let found = disk.open()
      post { self.opened(found) }
    }
  }

  private func opened(_ found: [CacheDisk.StoredEntry]) {
    change { state in
      for entry in found {
        state.index.restore(entry.response, metaSize: entry.metaSize, used: entry.used)
      }
    }
    while let waiting = takeWaiting() {
      for action in waiting { action() }
    }
  }

  /// Returns the waiting actions. If there are none, the cache is ready from then on, so actions keep their order.
  private func takeWaiting() -> [@Sendable () -> Void]? {
    state.withLock { state in
      guard !state.waiting.isEmpty else {
        state.isReady = true
        return nil
      }
      defer { state.waiting = [] }
      return state.waiting
    }
  }

  /// Calls `action` when the stored entries are known; immediately if they are known already.
  package func whenReady(_ action: @escaping @Sendable () -> Void) {
    let isReady = state.withLock { state in
      if !state.isReady { state.waiting.append(action) }
      return state.isReady
    }
    if isReady { action() }
  }

  /// Calls `done` on the loop when all changes so far are on disk.
  package func flush(_ done: @escaping @Sendable () -> Void) {
    whenReady { self.lane.submit { self.post(done) } }
  }

  // MARK: Lookup

  /// Returns the stored responses for a URL without fragment; empty before the cache is ready.
  package func variants(of url: String) -> [CachedResponse] {
    state.withLock { $0.index.variants(of: url) }
  }

  /// Returns the body of a response and records the use; `nil` if the body was deleted. A file exists as long as the lease.
  package func body(of response: CachedResponse) -> CacheLease? {
    change { state in
      let id = response.id
      state.index.touch(id, now: now())
      if let bytes = state.index.bytes(of: id) { return CacheLease(.bytes(bytes), size: response.size) }
      guard let disk, state.index.isOnDisk(id) else { return nil }
      return lease(disk, response, &state)
    }
  }

  package func isOnDisk(_ response: CachedResponse) -> Bool {
    state.withLock { $0.index.isOnDisk(response.id) }
  }

  /// Returns the file of a response and records the use, even if its bytes are in memory; `nil` if the response has no file.
  package func file(of response: CachedResponse) -> CacheLease? {
    change { state in
      guard let disk, state.index.isOnDisk(response.id) else { return nil }
      state.index.touch(response.id, now: now())
      return lease(disk, response, &state)
    }
  }

  private func lease(_ disk: CacheDisk, _ response: CachedResponse, _ state: inout State) -> CacheLease {
    let id = response.id
    state.index.lease(id)
    return CacheLease(.file(disk.bodyPath(id)), size: response.size) { [self] in
      change { $0.index.release(id) }
    }
  }

  /// Reads a whole body and keeps it in memory if it is small enough. Calls `done` on the loop, with `nil` if the body was deleted or is
  /// damaged. A damaged response is removed.
  package func read(_ response: CachedResponse, _ done: @escaping @Sendable ([UInt8]?) -> Void) {
    guard let lease = body(of: response) else { return post { done(nil) } }
    if case .bytes(let bytes) = lease.body { return post { done(bytes) } }
    guard let disk else { return post { done(nil) } }
    pool.submit { [self] in
      let bytes = disk.read(response)
      post { [self] in
        change { state in
          if let bytes { state.index.keep(bytes, of: response.id) } else { state.index.remove(response.id) }
        }
        withExtendedLifetime(lease) { done(bytes) }
      }
    }
  }

  /// The usage of the cache. Any thread may read it.
  package var usage: CacheUsage { state.withLock { $0.index.usage } }

  /// Returns the stored entries, most recently used first. Any thread may call this function.
  package func entries(limit: Int) -> [CacheUsage.Entry] { state.withLock { $0.index.list(limit) } }

  // MARK: Storing

  /// Stores a response. It becomes visible at once if its body is kept in memory, or else when it is on disk.
  /// - Parameter done: called on the loop with whether the response is stored, on disk if it goes there.
  package func store(
    _ response: CachedResponse, body: CacheBody, memoryOnly: Bool = false,
    done: (@Sendable (Bool) -> Void)? = nil
  ) {
    whenReady { [self] in
      let meta = response.json
      let goesToDisk = disk != nil && !memoryOnly
      let cost = response.size + Int64(meta.count)
      guard response.sha256.utf8.count == 64, hasSize(body, response.size),
        state.withLock({ state in
          state.index.fits(cost, isOnDisk: goesToDisk)
            && count?(state.index.usage.memoryUsed + cost, true) != false
        })
      else {
        // The new response is the current one even if it is not stored, so the older one must not be served again.
        change { $0.index.remove(key: response.key) }
        return post { done?(false) }
      }
      guard goesToDisk || !isFile(body) else { return storeFile(response, body, done) }
      insert(response, meta, body, goesToDisk, done)
    }
  }

  private func isFile(_ body: CacheBody) -> Bool { if case .file = body { true } else { false } }
  private func hasSize(_ body: CacheBody, _ size: Int64) -> Bool {
    if case .bytes(let bytes) = body { Int64(bytes.count) == size } else { true }
  }

  /// Reads a file whose bytes are to be kept in memory only.
  private func storeFile(_ response: CachedResponse, _ body: CacheBody, _ done: (@Sendable (Bool) -> Void)?) {
    guard case .file(let path) = body else { return }
    lane.submit { [self] in
      let bytes = CacheFile.read(path, size: response.size)
      post { [self] in
        if let bytes {
          insert(response, response.json, .bytes(bytes), false, done)
        } else {
          done?(false)
        }
      }
    }
  }

  private func insert(
    _ response: CachedResponse, _ meta: [UInt8], _ body: CacheBody, _ goesToDisk: Bool,
    _ done: (@Sendable (Bool) -> Void)?
  ) {
    let time = now()
    let bytes: [UInt8]? = if case .bytes(let bytes) = body { bytes } else { nil }
    change { state in
      state.index.insert(
        response, bytes: bytes, metaSize: Int64(meta.count), goesToDisk: goesToDisk, now: time)
    } then: { [self] in
      guard let disk, goesToDisk else { return }
      lane.submit { [self] in
        let isStored = disk.store(response, meta: meta, body: body, used: time)
        post { [self] in
          change { $0.index.written(response.id, isStored: isStored) }
          done?(isStored)
        }
      }
    }
    if !goesToDisk { post { done?(true) } }
  }

  // MARK: Changing

  /// Replaces the metadata of a stored response after a validation.
  package func update(_ response: CachedResponse) {
    whenReady { [self] in change { _ = $0.index.update(response, now: now()) } }
  }

  /// Removes one response.
  package func remove(_ response: CachedResponse) {
    whenReady { [self] in change { $0.index.remove(response.id) } }
  }

  /// Removes all stored responses for a URL. Calls `done` on the loop when the removal is permanent.
  package func remove(url: String, done: (@Sendable () -> Void)? = nil) {
    whenReady { [self] in
      change { $0.index.remove(url: url) }
      flushRemovals(done)
    }
  }

  /// Removes all entries. Calls `done` on the loop when none of them can return, even after a crash.
  package func removeAll(done: (@Sendable () -> Void)? = nil) {
    whenReady { [self] in
      change { $0.index.removeAll() }
      flushRemovals(done)
    }
  }

  private func flushRemovals(_ done: (@Sendable () -> Void)?) {
    lane.submit { [self] in
      disk?.sync()
      if let done { post(done) }
    }
  }

  // MARK: Serial queue

  /// Changes the state and submits the resulting effects to the serial queue, in the same order.
  /// - Parameter then: submits more work directly after the effects. It must not wait or call back, because the mutex is held.
  private func change<T: Sendable>(_ body: (inout State) -> T, then: () -> Void = {}) -> T {
    state.withLock { state in
      let result = body(&state)
      _ = count?(state.index.usage.memoryUsed, false)
      let effects = state.index.takeEffects()
      if let disk, !effects.isEmpty { lane.submit { for effect in effects { Self.carryOut(effect, disk) } } }
      then()
      return result
    }
  }

  private static func carryOut(_ effect: CacheIndex.Effect, _ disk: CacheDisk) {
    switch effect {
    case .writeMeta(let response, let meta, let used): disk.writeMeta(meta, key: response.key, used: used)
    case .touch(let key, let used): disk.touch(key, used: used)
    case .removeMeta(let key): disk.removeMeta(key)
    case .removeBody(let id): disk.removeBody(id)
    case .removeAll(let kept): disk.removeAll(keeping: kept)
    }
  }
}

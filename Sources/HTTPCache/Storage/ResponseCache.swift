package import EventLoop
internal import JSON
internal import Synchronization
package import TransferModel

/// The private cache of one session: metadata in memory, bodies in memory and on the disk, the longest unused first out.
///
/// It is meant for one loop and never makes it wait: files are touched by a lane of the pool, and what comes of that is
/// posted to the loop. `usage` and the end of a lease may come from any thread; so all that it knows is behind one mutex.
package final class ResponseCache: Sendable {
  package typealias Post = @Sendable (@escaping @Sendable () -> Void) -> Void
  /// Counts the bytes that it takes in memory; false if there is no room for them, and they must fit.
  package typealias Count = @Sendable (_ bytes: Int64, _ mustFit: Bool) -> Bool

  private struct State {
    var index: CacheIndex
    var isReady: Bool
    /// What was asked for before it was known what is there.
    var waiting: [@Sendable () -> Void] = []
  }
  private let state: Mutex<State>
  private let disk: CacheDisk?
  private let lane: SerialLane
  private let pool: WorkerPool
  private let count: Count?
  private let post: Post
  private let now: @Sendable () -> Timestamp

  /// - Parameters:
  ///   - directory: this cache's own; nil: memory only.
  ///   - count: nil: what it takes in memory counts nowhere but here.
  ///   - post: runs a closure on the loop.
  package convenience init(
    directory: String?, memoryCapacity: Int64, diskCapacity: Int64, pool: WorkerPool, count: Count? = nil,
    post: @escaping Post,
    now: @escaping @Sendable () -> Timestamp = { Timestamp(microseconds: WallClock.microseconds()) }
  ) {
    self.init(
      disk: directory.map { CacheDisk(directory: $0) }, memoryCapacity: memoryCapacity,
      diskCapacity: diskCapacity, pool: pool, count: count, post: post, now: now)
  }

  init(
    disk: CacheDisk?, memoryCapacity: Int64, diskCapacity: Int64, pool: WorkerPool, count: Count? = nil,
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
    lane = SerialLane(pool: pool)
    guard let disk else { return }
    lane.submit {
      let found = disk.open()
      post { self.opened(found) }
    }
  }

  private func opened(_ found: [CacheDisk.Found]) {
    change { state in
      for entry in found {
        state.index.restore(entry.response, metaSize: entry.metaSize, used: entry.used)
      }
    }
    while let waiting = takeWaiting() {
      for action in waiting { action() }
    }
  }

  /// What waits; when nothing does, what comes next need not wait, so that nothing overtakes.
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

  /// Calls `action` once it is known what is stored; at once where it is.
  package func whenReady(_ action: @escaping @Sendable () -> Void) {
    let isReady = state.withLock { state in
      if !state.isReady { state.waiting.append(action) }
      return state.isReady
    }
    if isReady { action() }
  }

  /// Calls `done` on the loop when all that was asked for so far is on the disk.
  package func flush(_ done: @escaping @Sendable () -> Void) {
    whenReady { self.lane.submit { self.post(done) } }
  }

  // MARK: Looking

  /// What is stored for a URL (without fragment); nothing before the cache is ready.
  package func variants(of url: String) -> [CachedResponse] {
    state.withLock { $0.index.variants(of: url) }
  }

  /// The body of a response that is used now; nil where it is gone. A file is there as long as the lease.
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

  /// The file of a response that is used now, also where its bytes are in memory; nil where there is none.
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

  /// Reads a whole body and keeps it in memory, where it is small enough. Calls `done` on the loop, with nil where the
  /// body is gone or is not what was stored: then the response is dropped.
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

  /// From any thread.
  package var usage: CacheUsage { state.withLock { $0.index.usage } }

  /// What is stored, the last used first. From any thread.
  package func entries(limit: Int) -> [CacheUsage.Entry] { state.withLock { $0.index.list(limit) } }

  // MARK: Storing

  /// Stores a response. It is seen at once where its body is kept in memory, else when it is on the disk.
  /// - Parameter done: called on the loop with whether it is stored: on the disk, where it goes there.
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
        // It still is the answer now: an older one must not be given any more.
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

  /// A file whose bytes are to be in memory only.
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

  /// Replaces the metadata of a stored response, after it was confirmed.
  package func update(_ response: CachedResponse) {
    whenReady { [self] in change { _ = $0.index.update(response, now: now()) } }
  }

  /// Removes one response.
  package func remove(_ response: CachedResponse) {
    whenReady { [self] in change { $0.index.remove(response.id) } }
  }

  /// Removes all that is stored for a URL; `done` is called on the loop when that is for good.
  package func remove(url: String, done: (@Sendable () -> Void)? = nil) {
    whenReady { [self] in
      change { $0.index.remove(url: url) }
      settle(done)
    }
  }

  /// Removes everything; `done` is called on the loop when nothing of it can come back, not even after a crash.
  package func removeAll(done: (@Sendable () -> Void)? = nil) {
    whenReady { [self] in
      change { $0.index.removeAll() }
      settle(done)
    }
  }

  private func settle(_ done: (@Sendable () -> Void)?) {
    lane.submit { [self] in
      disk?.sync()
      if let done { post(done) }
    }
  }

  // MARK: The lane

  /// Changes what is known and hands what that means for the disk to the lane, in the same order.
  /// - Parameter then: hands over more, right behind it. Nothing here may wait or call back: the mutex is held.
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

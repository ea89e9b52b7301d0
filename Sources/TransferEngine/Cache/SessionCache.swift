internal import BlobStore
internal import Crypto
internal import EventLoop
internal import CLinux
internal import Curl
internal import Glibc
internal import HTTPCache
internal import TransferModel

/// A session's cache for its transfer loop. Used only on that loop.
final class SessionCache {
  /// The body of a response to store.
  enum Body {
    case bytes([UInt8])
    /// The body of a finished task.
    case blob(any BlobStore, BlobKey)
  }

  /// The size of the largest stored body in bytes that is read whole and verified.
  private static let wholeReadLimit: Int64 = 4 << 20
  /// The maximum size in bytes of a body that is combined from parts, which happens in memory.
  private static let combinedLimit: Int64 = 64 << 20

  private let cache: ResponseCache
  private let limits: (memory: Int64, disk: Int64?)
  private let pool: ThreadPool
  private let post: ResponseCache.Post
  /// Whether the cache's index was read and all waiting actions were called.
  private(set) var isReady = false
  private var waiting: [() -> Void] = []
  /// The URLs of responses that are being stored, and the actions that wait for them.
  private var storing: [String: (count: Int, waiting: [() -> Void])] = [:]

  init(
    _ cache: ResponseCache, _ capacities: CacheCapacities, isOnDisk: Bool, pool: ThreadPool,
    post: @escaping ResponseCache.Post
  ) {
    self.cache = cache
    limits = (Int64(capacities.memoryCapacity), isOnDisk ? Int64(capacities.diskCapacity) : nil)
    self.pool = pool
    self.post = post
    let loop = LoopBound(self)
    cache.whenReady { loop.value?.becomeReady() }
  }

  /// Calls `action` when the cache's index was read.
  func whenReady(_ action: @escaping () -> Void) {
    if isReady { action() } else { waiting.append(action) }
  }

  /// Calls all waiting actions in one turn of the loop, so that later requests do not overtake them.
  private func becomeReady() {
    isReady = true
    for action in waiting { action() }
    waiting = []
  }

  // MARK: Lookup

  func variants(of url: String) -> [CachedResponse] { cache.variants(of: url) }
  private func isStoring(_ url: String) -> Bool { storing[url] != nil }
  /// Returns whether a response may be stored for the URL. `true` until the cache's index was read.
  func mayHave(_ url: String) -> Bool { !isReady || isStoring(url) || !cache.variants(of: url).isEmpty }

  func shelf(of url: String) -> CacheLookup.StoredState {
    guard isReady else { return .opening }
    return isStoring(url) ? .storing : .ready(cache.variants(of: url))
  }

  /// Calls `action` when the responses that are being stored for the URL can be found.
  func whenStored(_ url: String, _ action: @escaping () -> Void) {
    guard storing[url] != nil else { return action() }
    storing[url]?.waiting.append(action)
  }

  func isOnDisk(_ stored: CachedResponse) -> Bool { cache.isOnDisk(stored) }

  /// Returns whether a partial response can be completed in this cache.
  func mayComplete(_ part: CachedResponse) -> Bool {
    part.part?.total.map { fits($0) && $0 <= Self.combinedLimit } ?? false
  }

  func fits(_ size: Int64) -> Bool {
    Storability.fits(size, memoryCapacity: limits.memory, diskCapacity: limits.disk)
  }

  /// Returns the file of a stored body, to read or link while the lease lives; `nil` if the body is in memory or was deleted.
  func file(of stored: CachedResponse) -> (file: LocalFile, lease: CacheLease)? {
    guard let lease = cache.file(of: stored), case .file(let path) = lease.body else { return nil }
    return (LocalFile(path: path), lease)
  }

  /// Reads bytes of a stored body, possibly fewer than requested. Calls `done` on the loop, with `nil` if the body was deleted.
  func read(
    _ stored: CachedResponse, _ range: Range<Int64>, _ done: @escaping @Sendable (ArraySlice<UInt8>?) -> Void
  ) {
    let slice: @Sendable ([UInt8]) -> ArraySlice<UInt8> = {
      $0[Int(range.lowerBound)..<Int(range.upperBound)]
    }
    guard let lease = cache.body(of: stored) else { return done(nil) }
    switch lease.body {
    case .bytes(let bytes): done(slice(bytes))
    case .file where stored.size <= Self.wholeReadLimit:
      cache.read(stored) { bytes in done(bytes.map(slice)) }
    case .file(let path):
      let post = post
      pool.submit {
        let bytes = withExtendedLifetime(lease) { Self.read(path, range) }
        post { done(bytes.map { $0[...] }) }
      }
    }
  }

  private static func read(_ path: String, _ range: Range<Int64>) -> [UInt8]? {
    let descriptor = Disk.open(path, O_RDONLY)
    guard descriptor >= 0 else { return nil }
    defer { Disk.close(descriptor) }
    let bytes = [UInt8](unsafeUninitializedCapacity: range.count) { buffer, count in
      count = max(0, pread(descriptor, buffer.baseAddress!, range.count, off_t(range.lowerBound)))
    }
    return bytes.isEmpty ? nil : bytes
  }

  // MARK: Changes

  func update(_ stored: CachedResponse) { cache.update(stored) }
  func remove(_ stored: CachedResponse) { cache.remove(stored) }
  func remove(_ url: String) { cache.remove(url: url) }

  /// Removes the stored responses of the servers in these protection spaces. Proxy spaces are ignored.
  func removeAll(at spaces: [ProtectionSpace]) {
    let places = Set(spaces.filter { !$0.isProxy }.map(\.place))
    guard !places.isEmpty else { return }
    for url in Set(cache.entries(limit: .max).map(\.response.url)) {
      if let place = (try? CurlURL(url))?.place, places.contains(place) { cache.remove(url: url) }
    }
  }

  /// Stores a response. Lookups of its URL wait until it is stored.
  func store(
    _ response: CachedResponse, _ body: Body, memoryOnly: Bool = false,
    done: @escaping @Sendable (Bool) -> Void = { _ in }
  ) {
    let memoryOnly = memoryOnly || Self.isPersonal(response)
    storing[response.url, default: (0, [])].count += 1
    let loop = LoopBound(self)
    let finish: @Sendable (Bool) -> Void = { isStored in
      loop.value?.stored(response.url)
      done(isStored)
    }
    switch body {
    case .bytes(let bytes): cache.store(response, body: .bytes(bytes), memoryOnly: memoryOnly, done: finish)
    case .blob(let bodies, let key):
      if let file = bodies.local?.localFile(of: key) {
        cache.store(response, body: .file(file.path), memoryOnly: memoryOnly, done: finish)
        return
      }
      let (cache, post) = (cache, post)
      Self.read(bodies, key, response.size, on: pool) { bytes in
        guard let bytes else { return post { finish(false) } }
        post { cache.store(response, body: .bytes(bytes), memoryOnly: memoryOnly, done: finish) }
      }
    }
  }

  /// Returns whether a response depends on the user. Such a response stays in memory, because its metadata contain credentials.
  private static func isPersonal(_ response: CachedResponse) -> Bool {
    response.vary.contains {
      ["authorization", "proxy-authorization", "cookie"].contains($0.name) && $0.value != nil
    }
  }

  private func stored(_ url: String) {
    storing[url]?.count -= 1
    guard let state = storing[url], state.count == 0 else { return }
    storing[url] = nil
    for action in state.waiting { action() }
  }

  /// Reads a blob. Calls `done` from a thread of the pool, with `nil` if there is none.
  /// - Parameter limit: The maximum number of bytes to read.
  private static func read(
    _ blobs: any BlobStore, _ key: BlobKey, _ limit: Int64, on pool: ThreadPool,
    _ done: @escaping @Sendable ([UInt8]?) -> Void
  ) {
    pool.submit {
      blobs.open(key) { opened in
        guard case .success(let reader) = opened else { return done(nil) }
        reader.collect(at: 0, count: Int(limit), on: pool) { done(try? $0.get()) }
      }
    }
  }

  /// Combines as `combine` does, while lookups of the URL wait.
  func join(
    _ more: PartialContent, _ stored: CachedResponse, _ received: Body, memoryOnly: Bool,
    done: @escaping @Sendable (Bool) -> Void
  ) {
    storing[stored.url, default: (0, [])].count += 1
    let loop = LoopBound(self)
    combine(more, stored, received, memoryOnly: memoryOnly) { joined in
      loop.value?.stored(stored.url)
      done(joined != nil)
    }
  }

  /// Combines the stored and the received part and stores the result, in memory if one of them may only be there. Calls `done` on the loop,
  /// with `nil` if the parts cannot be combined.
  func combine(
    _ whole: PartialContent, _ stored: CachedResponse, _ received: Body, memoryOnly: Bool = false,
    done: @escaping @Sendable (CachedResponse?) -> Void
  ) {
    let memoryOnly = memoryOnly || !cache.isOnDisk(stored)
    guard whole.response.size <= Self.combinedLimit, fits(whole.response.size) else { return done(nil) }
    let loop = LoopBound(self)
    read(stored, 0..<stored.size) { [pool, post] held in
      guard let held, Int64(held.count) == stored.size else { return done(nil) }
      let join: @Sendable (ArraySlice<UInt8>) -> Void = { new in
        // The task's body may be deleted already.
        let needed = whole.pieces.filter { $0.source == .received }.map(\.bytes.upperBound).max() ?? 0
        guard Int64(new.count) >= needed else { return post { done(nil) } }
        var body: [UInt8] = []
        body.reserveCapacity(Int(whole.response.size))
        for piece in whole.pieces {
          let (from, to) = (Int(piece.bytes.lowerBound), Int(piece.bytes.upperBound))
          body +=
            piece.source == .stored ? held[(held.startIndex + from)..<(held.startIndex + to)] : new[from..<to]
        }
        var response = whole.response
        response.sha256 = Hexadecimal.text(Array(SHA256.hash(data: body)))
        let (joined, bytes) = (response, body)
        post { loop.value?.store(joined, .bytes(bytes), memoryOnly: memoryOnly) { done($0 ? joined : nil) } }
      }
      switch received {
      case .bytes(let bytes): pool.submit { join(bytes[...]) }
      case .blob(let bodies, let key):
        Self.read(bodies, key, Self.combinedLimit, on: pool) { join(($0 ?? [])[...]) }
      }
    }
  }
}

/// A reference to an object of a loop, for closures that return to the loop.
private final class LoopBound<Value: AnyObject>: @unchecked Sendable {
  // Unchecked: only closures that run on the loop read the value.
  private(set) weak var value: Value?
  init(_ value: Value) { self.value = value }
}

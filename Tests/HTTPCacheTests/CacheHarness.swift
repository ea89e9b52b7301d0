import EventLoop
import Foundation
import Synchronization
import TestSupport
import TransferModel

@testable import HTTPCache

/// A cache with its own clock. Posted work runs in order, as on a loop.
final class CacheHarness: Sendable {
  static let pool = ThreadPool(name: "test-cache", threads: 2)

  let cache: ResponseCache
  let directory: String?
  private let clock: Clock

  init(
    _ directory: String?, memory: Int64 = 10_000, disk: Int64 = 40_000, now: Timestamp = Sample.start,
    willChange: (@Sendable () -> Void)? = nil
  ) {
    self.directory = directory
    let clock = Clock(now)
    self.clock = clock
    let queue = DispatchQueue(label: "loop")
    cache = ResponseCache(
      disk: directory.map { CacheDisk(directory: $0, willChange: willChange) }, memoryCapacity: memory,
      diskCapacity: disk, pool: Self.pool, post: { work in queue.async(execute: work) }, now: { clock.now })
  }

  private final class Clock: Sendable {
    private let value: Mutex<Timestamp>
    init(_ now: Timestamp) { value = Mutex(now) }
    var now: Timestamp {
      get { value.withLock { $0 } }
      set { value.withLock { $0 = newValue } }
    }
  }

  var now: Timestamp {
    get { clock.now }
    set { clock.now = newValue }
  }

  /// Returns a path in memory if possible, because the random walks sync thousands of files.
  static func directory() -> String { TemporaryDirectory.make("ferry-cache", inMemory: true) + "/cache" }

  static func remove(_ directory: String) { try? FileManager.default.removeItem(atPath: directory) }

  static func names(_ directory: String) -> [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []).sorted()
  }

  /// Returns when all requested work is done.
  func flush() async { await withCheckedContinuation { done in cache.flush { done.resume() } } }

  @discardableResult func store(
    _ response: CachedResponse, _ body: CacheBody, memoryOnly: Bool = false
  ) async -> Bool {
    await withCheckedContinuation { done in
      cache.store(response, body: body, memoryOnly: memoryOnly) { done.resume(returning: $0) }
    }
  }

  @discardableResult func store(
    _ url: String, _ bytes: [UInt8], _ fields: [(String, String)] = [], memoryOnly: Bool = false
  ) async -> CachedResponse? {
    let response = Self.response(url, bytes, fields)
    return await store(response, .bytes(bytes), memoryOnly: memoryOnly) ? response : nil
  }

  static func response(
    _ url: String, _ bytes: [UInt8], _ fields: [(String, String)] = [], to asked: [(String, String)] = []
  ) -> CachedResponse {
    CachedResponse(
      answering: Sample.request(asked, url: url), Sample.head(200, [("ETag", "\"v\"")] + fields),
      size: Int64(bytes.count), sha256: Sample.digest(bytes))
  }

  func removeAll() async { await withCheckedContinuation { done in cache.removeAll { done.resume() } } }

  func remove(_ url: String) async {
    await withCheckedContinuation { done in cache.remove(url: url) { done.resume() } }
  }

  func read(_ response: CachedResponse) async -> [UInt8]? {
    await withCheckedContinuation { done in cache.read(response) { done.resume(returning: $0) } }
  }

  func urls() -> [String] { cache.entries(limit: 1000).map(\.response.url) }
}

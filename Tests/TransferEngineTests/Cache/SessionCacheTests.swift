import EventLoop
import Foundation
import HTTPCache
import Synchronization
import TestSupport
import Testing
import TransferModel

@testable import TransferEngine

@Suite struct SessionCacheTests {
  /// A queue of posted actions that the test runs one by one.
  private final class Turns: Sendable {
    private let posted = Mutex<[@Sendable () -> Void]>([])
    private let bell = Gate()

    func post(_ action: @escaping @Sendable () -> Void) {
      posted.withLock { $0.append(action) }
      bell.open()
    }
    /// Waits for a posted action, and runs it.
    func turn() {
      bell.wait()
      posted.withLock { $0.removeFirst() }()
    }
  }

  /// A later request finds the cache ready, so all waiting actions must have run before it, in their order.
  @Test func `all waiting actions run in the turn that opens the cache`() {
    let directory = TemporaryDirectory.make("ferry-session-cache") + "/cache"
    let (turns, pool) = (Turns(), ThreadPool(name: "test-cache", threads: 1))
    defer { pool.stop() }
    let cache = ResponseCache(
      directory: directory, memoryCapacity: 1000, diskCapacity: 1000, pool: pool, post: { turns.post($0) })
    let session = SessionCache(
      cache, CacheCapacities(memoryCapacity: 1000, diskCapacity: 1000), isOnDisk: true, pool: pool,
      post: { turns.post($0) })
    var order: [Int] = []
    for number in 0..<3 { session.whenReady { order.append(number) } }
    #expect(!session.isReady && order.isEmpty)
    turns.turn()
    #expect(session.isReady && order == [0, 1, 2])
    session.whenReady { order.append(3) }
    #expect(order == [0, 1, 2, 3])
  }
}

import EventLoop
import Foundation
import HTTPCache
import Synchronization
import TestSupport
import Testing
import TransferModel

@testable import TransferEngine

@Suite struct SessionCacheTests {
  /// What was posted to a loop that turns when it is told to.
  private final class Turns: Sendable {
    private let posted = Mutex<[@Sendable () -> Void]>([])
    private let bell = Gate()

    func post(_ action: @escaping @Sendable () -> Void) {
      posted.withLock { $0.append(action) }
      bell.open()
    }
    /// Waits for something that was posted, and does it.
    func turn() {
      bell.wait()
      posted.withLock { $0.removeFirst() }()
    }
  }

  /// Whoever asks in a later turn finds the cache ready: by then all who waited must have gone on, in their order.
  @Test func thoseWhoWaitGoOnInTheTurnInWhichTheCacheIsReady() {
    let directory = TemporaryDirectory.make("ferry-session-cache") + "/cache"
    let (turns, pool) = (Turns(), WorkerPool(name: "test-cache", threads: 1))
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

import Synchronization
import Testing
import TransferModel

@testable import TransferService

@Suite struct DeadlineQueueTests {
  /// A clock that tests move.
  private final class Clock: Sendable {
    let time = Atomic<Int64>(1_000_000_000)
    var now: @Sendable () -> Timestamp {
      { Timestamp(microseconds: self.time.load(ordering: .relaxed)) }
    }
  }
  private let clock = Clock()

  private static func decision(_ number: UInt64) -> DeadlineQueue.Purpose {
    .decision(DecisionID(high: 0, low: number))
  }

  @Test func whatIsDueFiresInItsOrder() {
    let queue = DeadlineQueue(now: clock.now)
    let fired = Box()
    queue.onFire { fired.add($0) }
    for number in [3, 1, 2, 9] as [UInt64] {
      queue.add(Self.decision(number), at: clock.now().adding(seconds: 100 * Double(number)))
    }
    queue.wake()
    #expect(fired.all.isEmpty)
    clock.time.add(200_000_000, ordering: .relaxed)
    queue.wake()
    #expect(fired.all == [Self.decision(1), Self.decision(2)])
    clock.time.add(100_000_000, ordering: .relaxed)
    queue.wake()
    queue.wake()
    #expect(fired.all == [Self.decision(1), Self.decision(2), Self.decision(3)])
  }

  @Test func itWakesByItself() async {
    let queue = DeadlineQueue(now: clock.now)
    let (stream, continuation) = AsyncStream.makeStream(of: DeadlineQueue.Purpose.self)
    queue.onFire { continuation.yield($0) }
    queue.add(Self.decision(2), at: clock.now().adding(seconds: 3000))
    queue.add(Self.decision(1), at: clock.now().adding(seconds: -1))
    var iterator = stream.makeAsyncIterator()
    #expect(await iterator.next() == Self.decision(1))
  }

  private final class Box: Sendable {
    private let purposes = Mutex<[DeadlineQueue.Purpose]>([])
    func add(_ purpose: DeadlineQueue.Purpose) { purposes.withLock { $0.append(purpose) } }
    var all: [DeadlineQueue.Purpose] { purposes.withLock { $0 } }
  }
}

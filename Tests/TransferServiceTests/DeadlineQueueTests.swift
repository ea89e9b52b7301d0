import Synchronization
import Testing
import TransferModel

@testable import TransferService

@Suite struct DeadlineQueueTests {
  /// A clock that the test sets.
  private final class Clock: Sendable {
    let time = Atomic<Int64>(1_000_000_000)
    var now: @Sendable () -> Timestamp {
      { Timestamp(microseconds: self.time.load(ordering: .relaxed)) }
    }
    let start = ContinuousClock.now
    /// In seconds.
    let uptime = Atomic<Int>(0)
    var elapsed: @Sendable () -> ContinuousClock.Instant {
      { self.start + .seconds(self.uptime.load(ordering: .relaxed)) }
    }
  }
  private let clock = Clock()

  private static func begin(_ number: UInt64) -> DeadlineQueue.Purpose {
    .begin(TaskID(high: 0, low: number))
  }

  private static func decision(_ number: UInt64) -> DeadlineQueue.Purpose {
    .decision(DecisionID(high: 0, low: number), of: TaskID(high: 0, low: number))
  }

  @Test func `due purposes fire in order`() {
    let queue = DeadlineQueue(now: clock.now)
    let fired = Box()
    queue.onFire { fired.add($0) }
    for number in [3, 1, 2, 9] as [UInt64] {
      queue.add(Self.begin(number), at: clock.now().adding(seconds: 100 * Double(number)))
    }
    queue.wake()
    #expect(fired.all.isEmpty)
    clock.time.add(200_000_000, ordering: .relaxed)
    queue.wake()
    #expect(fired.all == [Self.begin(1), Self.begin(2)])
    clock.time.add(100_000_000, ordering: .relaxed)
    queue.wake()
    queue.wake()
    #expect(fired.all == [Self.begin(1), Self.begin(2), Self.begin(3)])
  }

  @Test(arguments: [-1_000_000_000, 0, 1_000_000_000] as [Int64])
  func `jump of the wall clock does not change a wait`(_ jump: Int64) {
    let queue = DeadlineQueue(now: clock.now, uptime: clock.elapsed)
    let fired = Box()
    queue.onFire { fired.add($0) }
    for number in [3, 1] as [UInt64] { queue.add(Self.decision(number), after: 100 * Double(number)) }
    clock.time.add(jump, ordering: .relaxed)
    clock.uptime.store(99, ordering: .relaxed)
    queue.wake()
    #expect(fired.all.isEmpty)
    clock.uptime.store(100, ordering: .relaxed)
    queue.wake()
    #expect(fired.all == [Self.decision(1)])
    clock.uptime.store(1000, ordering: .relaxed)
    queue.wake()
    #expect(fired.all == [Self.decision(1), Self.decision(3)])
  }

  @Test func `cancelled purposes do not fire and leave no entries`() {
    let queue = DeadlineQueue(now: clock.now, uptime: clock.elapsed)
    let fired = Box()
    queue.onFire { fired.add($0) }
    queue.add(Self.decision(0), after: 100)
    queue.add(Self.begin(0), at: clock.now().adding(seconds: 100))
    for number in 1...100_000 as ClosedRange<UInt64> {
      queue.add(Self.decision(number), after: 3600)
      queue.add(Self.begin(number), at: clock.now().adding(seconds: 3600))
      queue.remove(Self.decision(number))
      queue.remove(Self.begin(number))
    }
    #expect(queue.size < 200)
    clock.uptime.store(4000, ordering: .relaxed)
    clock.time.add(4_000_000_000, ordering: .relaxed)
    queue.wake()
    #expect(Set(fired.all) == [Self.begin(0), Self.decision(0)] && fired.all.count == 2)
    #expect(queue.size == 0)
  }

  @Test func `last time of a purpose replaces earlier ones`() {
    let queue = DeadlineQueue(now: clock.now)
    let fired = Box()
    queue.onFire { fired.add($0) }
    let start = clock.now()
    for seconds in [100, 300, 200] as [Double] {
      queue.add(Self.begin(1), at: start.adding(seconds: seconds))
    }
    clock.time.add(150_000_000, ordering: .relaxed)
    queue.wake()
    #expect(fired.all.isEmpty)
    clock.time.add(50_000_000, ordering: .relaxed)
    queue.wake()
    clock.time.add(200_000_000, ordering: .relaxed)
    queue.wake()
    #expect(fired.all == [Self.begin(1)])
  }

  @Test func `queue wakes by its own timer`() async {
    let queue = DeadlineQueue(now: clock.now)
    let (stream, continuation) = AsyncStream.makeStream(of: DeadlineQueue.Purpose.self)
    queue.onFire { continuation.yield($0) }
    queue.add(Self.begin(2), at: clock.now().adding(seconds: 3000))
    queue.add(Self.begin(1), at: clock.now().adding(seconds: -1))
    var iterator = stream.makeAsyncIterator()
    #expect(await iterator.next() == Self.begin(1))
    queue.add(Self.decision(3), after: 0.01)
    #expect(await iterator.next() == Self.decision(3))
  }

  private final class Box: Sendable {
    private let purposes = Mutex<[DeadlineQueue.Purpose]>([])
    func add(_ purpose: DeadlineQueue.Purpose) { purposes.withLock { $0.append(purpose) } }
    var all: [DeadlineQueue.Purpose] { purposes.withLock { $0 } }
  }
}

import Testing

@testable import EventLoop

@Suite struct TimerQueueTests {
  private let start = ContinuousClock.now

  @Test func `due actions are ordered by deadline`() {
    var (queue, order) = (TimerQueue(), [Int]())
    for (number, seconds) in [(1, 3), (2, 1), (3, 2), (4, 9)] {
      _ = queue.insert(start + .seconds(seconds)) { order.append(number) }
    }
    for action in queue.takeDue(start + .seconds(3)) { action() }
    #expect(order == [2, 3, 1])
    #expect(queue.milliseconds(from: start) == 9001)
  }

  /// Cancelled timers with late deadlines must not use memory until then.
  @Test func `cancelled timers are removed`() {
    var queue = TimerQueue()
    var fired = 0
    _ = queue.insert(start + .seconds(1)) { fired += 1 }
    for _ in 0..<10_000 { queue.remove(queue.insert(start + .seconds(3600)) { fired += 100 }) }
    #expect(queue.countOfEntries <= 2 + TimerQueue.spareEntries)
    for action in queue.takeDue(start + .seconds(7200)) { action() }
    #expect(fired == 1 && queue.milliseconds(from: start) == -1)
  }
}

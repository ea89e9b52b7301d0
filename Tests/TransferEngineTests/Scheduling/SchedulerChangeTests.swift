import Testing
import TransferModel

@testable import TransferEngine

/// Changes while tasks wait or run.
@Suite struct SchedulerChangeTests {
  private static let lane = Scheduler.Queue(session: .shared, origin: "http://a:80")

  private func id(_ number: UInt64) -> TaskID { TaskID(high: 0, low: number) }

  /// Returns a scheduler with running task 0, and waiting tasks with these priorities.
  private func scheduler(_ priorities: [Double]) -> Scheduler {
    var scheduler = Scheduler(maximumActive: 10)
    #expect(scheduler.submit(id(0), in: Self.lane, limit: 1, priority: 0) == [id(0)])
    for (index, priority) in priorities.enumerated() {
      #expect(scheduler.submit(id(UInt64(index + 1)), in: Self.lane, limit: 1, priority: priority).isEmpty)
    }
    return scheduler
  }

  private func order(_ scheduler: inout Scheduler, from first: UInt64 = 0) -> [UInt64] {
    var order: [UInt64] = []
    var next: TaskID? = id(first)
    while let running = next {
      next = scheduler.remove(running).first
      if let next { order.append(next.low) }
    }
    #expect(scheduler.active == 0 && scheduler.countOfWaiting == 0)
    return order
  }

  @Test func `priority moves a waiting task up and down`() {
    var up = scheduler([0.9, 0.5, 0.1])
    up.setPriority(1, of: id(3))
    #expect(up.countOfWaiting == 3)
    #expect(order(&up) == [3, 1, 2])
    var down = scheduler([0.9, 0.5, 0.1])
    down.setPriority(0, of: id(1))
    #expect(order(&down) == [2, 3, 1])
  }

  @Test func `last of many changes counts`() {
    var scheduler = scheduler([0.9, 0.5])
    for priority in [0, 1, 0.2, 0.8, 0.3] { scheduler.setPriority(priority, of: id(1)) }
    #expect(scheduler.countOfWaiting == 2)
    #expect(order(&scheduler) == [2, 1])
  }

  /// A client may set priorities any number of times, and cancel waiting tasks.
  @Test func `changes of priority use no memory`() {
    var scheduler = scheduler([0.9, 0.5])
    for number in 0..<10_000 { scheduler.setPriority(Double(number % 7), of: id(1)) }
    #expect(scheduler.countOfEntries <= 2 * 2 + Scheduler.spareEntries)
    for number in 10..<10_000 as Range<UInt64> {
      #expect(scheduler.submit(id(number), in: Self.lane, limit: 1, priority: 0).isEmpty)
      #expect(scheduler.remove(id(number)).isEmpty)
    }
    #expect(scheduler.countOfEntries <= 2 * 2 + Scheduler.spareEntries && scheduler.countOfWaiting == 2)
    scheduler.setPriority(0, of: id(1))
    #expect(order(&scheduler) == [2, 1])
  }

  @Test func `task with a changed priority can be removed`() {
    var scheduler = scheduler([0.9, 0.5])
    scheduler.setPriority(1, of: id(2))
    #expect(scheduler.remove(id(2)).isEmpty)
    #expect(order(&scheduler) == [1])
  }

  @Test func `change of a task that does not wait has no effect`() {
    var scheduler = scheduler([0.5])
    scheduler.setPriority(1, of: id(0))
    scheduler.setPriority(1, of: id(7))
    #expect(scheduler.active == 1 && scheduler.countOfWaiting == 1)
    #expect(order(&scheduler) == [1])
  }

  @Test func `renamed task stays active`() {
    var scheduler = scheduler([0.5])
    scheduler.rename(id(0), to: id(9))
    scheduler.rename(id(7), to: id(8))
    #expect(scheduler.active == 1 && scheduler.countOfWaiting == 1)
    #expect(scheduler.remove(id(0)).isEmpty)
    #expect(order(&scheduler, from: 9) == [1])
  }
}

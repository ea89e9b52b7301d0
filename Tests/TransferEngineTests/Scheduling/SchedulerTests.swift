import Testing
import TransferModel

@testable import TransferEngine

@Suite struct SchedulerTests {
  private static let a = Scheduler.Queue(session: .shared, origin: "http://a:80")
  private static let b = Scheduler.Queue(session: .shared, origin: "http://b:80")
  private static let c = Scheduler.Queue(session: SessionID(high: 1, low: 1), origin: "http://a:80")

  private func id(_ number: UInt64) -> TaskID { TaskID(high: 0, low: number) }
  private func numbers(_ tasks: [TaskID]) -> [UInt64] { tasks.map(\.low) }

  @Test func `limits apply to each lane and to all`() {
    var scheduler = Scheduler(maximumActive: 3)
    #expect(numbers(scheduler.submit(id(1), in: Self.a, limit: 2, priority: 0.5)) == [1])
    #expect(numbers(scheduler.submit(id(2), in: Self.a, limit: 2, priority: 0.5)) == [2])
    #expect(numbers(scheduler.submit(id(3), in: Self.a, limit: 2, priority: 0.5)) == [])
    #expect(numbers(scheduler.submit(id(4), in: Self.b, limit: 2, priority: 0.5)) == [4])
    #expect(numbers(scheduler.submit(id(5), in: Self.b, limit: 2, priority: 0.5)) == [])
    #expect(scheduler.active == 3)
    #expect(scheduler.countOfWaiting == 2)
    #expect(numbers(scheduler.remove(id(1))) == [5])
    #expect(numbers(scheduler.remove(id(2))) == [3])
    #expect(numbers(scheduler.remove(id(3))) == [])
    #expect(scheduler.active == 2)
    #expect(scheduler.countOfWaiting == 0)
  }

  @Test func `urgent tasks start first, then the oldest`() {
    var scheduler = Scheduler(maximumActive: 1)
    _ = scheduler.submit(id(0), in: Self.a, limit: 1, priority: 0)
    for (number, priority) in [(1, 0.5), (2, 0.9), (3, 0.5), (4, 0.9), (5, 0.1), (6, 1.0)]
      as [(UInt64, Double)]
    {
      #expect(scheduler.submit(id(number), in: Self.a, limit: 1, priority: priority).isEmpty)
    }
    var order: [UInt64] = []
    var next: UInt64? = 0
    while let running = next {
      let started = numbers(scheduler.remove(id(running)))
      order += started
      next = started.first
    }
    #expect(order == [6, 2, 4, 1, 3, 5])
  }

  @Test func `lanes take turns under the common limit`() {
    var scheduler = Scheduler(maximumActive: 1)
    _ = scheduler.submit(id(0), in: Self.a, limit: 6, priority: 0.5)
    for number in UInt64(1)...4 { _ = scheduler.submit(id(number), in: Self.a, limit: 6, priority: 1) }
    for number in UInt64(11)...12 { _ = scheduler.submit(id(number), in: Self.b, limit: 6, priority: 0) }
    _ = scheduler.submit(id(21), in: Self.c, limit: 6, priority: 0)
    var order: [UInt64] = []
    var next: UInt64? = 0
    while let running = next {
      let started = numbers(scheduler.remove(id(running)))
      order += started
      next = started.first
    }
    #expect(order == [1, 11, 21, 2, 12, 3, 4])
  }

  @Test func `sessions do not share a lane`() {
    var scheduler = Scheduler(maximumActive: 10)
    #expect(scheduler.submit(id(1), in: Self.a, limit: 1, priority: 0.5) == [id(1)])
    #expect(scheduler.submit(id(2), in: Self.a, limit: 1, priority: 0.5) == [])
    #expect(scheduler.submit(id(3), in: Self.c, limit: 1, priority: 0.5) == [id(3)])
  }

  @Test func `task starts and ends once`() {
    var scheduler = Scheduler(maximumActive: 2)
    #expect(scheduler.submit(id(1), in: Self.a, limit: 2, priority: 0.5) == [id(1)])
    #expect(scheduler.submit(id(1), in: Self.b, limit: 2, priority: 0.5) == [])
    #expect(scheduler.active == 1)
    #expect(scheduler.remove(id(9)) == [])
    #expect(scheduler.remove(id(1)) == [])
    #expect(scheduler.remove(id(1)) == [])
    #expect(scheduler.active == 0)
  }

  @Test func `removed task never starts`() {
    var scheduler = Scheduler(maximumActive: 1)
    _ = scheduler.submit(id(1), in: Self.a, limit: 1, priority: 0.5)
    _ = scheduler.submit(id(2), in: Self.a, limit: 1, priority: 0.9)
    _ = scheduler.submit(id(3), in: Self.a, limit: 1, priority: 0.1)
    #expect(scheduler.remove(id(2)) == [])
    #expect(scheduler.countOfWaiting == 1)
    #expect(scheduler.remove(id(1)) == [id(3)])
  }

  @Test func `resubmitted task queues again`() {
    var scheduler = Scheduler(maximumActive: 1)
    _ = scheduler.submit(id(1), in: Self.a, limit: 1, priority: 0.5)
    _ = scheduler.submit(id(2), in: Self.a, limit: 1, priority: 0.9)
    _ = scheduler.submit(id(3), in: Self.a, limit: 1, priority: 0.5)
    _ = scheduler.remove(id(2))
    _ = scheduler.submit(id(2), in: Self.a, limit: 1, priority: 0.1)
    #expect(scheduler.remove(id(1)) == [id(3)])
    #expect(scheduler.remove(id(3)) == [id(2)])
    #expect(scheduler.remove(id(2)) == [])
  }
}

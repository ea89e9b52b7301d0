import TestSupport
import Testing
import TransferModel

/// The finished tasks that the plan deletes.
@Suite struct RetentionPlanTests {
  private static let now = Timestamp(seconds: 1_800_000_000)

  /// Returns a task by its age, the time until its body expires (`nil` without a body), and the body's bytes.
  private static func task(_ number: Int, age: Double, keptFor: Double? = nil, bytes: Int64 = 0)
    -> FinishedTask
  {
    FinishedTask(
      id: TaskID(high: 1, low: UInt64(number)), sessionID: .shared, endedAt: now.adding(seconds: -age),
      keptUntil: keptFor.map { now.adding(seconds: $0) }, keptBytes: bytes)
  }

  private static func retention(tasks: Double = 100, quota: Int64? = nil) -> Retention {
    var retention = Retention()
    retention.tasks = tasks
    retention.maximumBodyBytes = quota
    return retention
  }

  private struct Case: Sendable {
    let tasks: [FinishedTask]
    let quota: Int64?
    let goingTasks: [Int]
    let goingBodies: [Int]
    let left: Int64
  }

  private static let cases: [Case] = [
    Case(tasks: [], quota: nil, goingTasks: [], goingBodies: [], left: 0),
    // Age: to the microsecond, the oldest first.
    Case(
      tasks: [task(1, age: 99.9), task(2, age: 100), task(3, age: 300)], quota: nil, goingTasks: [3, 2],
      goingBodies: [], left: 0),
    // Expiry: the body alone.
    Case(
      tasks: [task(1, age: 5, keptFor: 0, bytes: 7), task(2, age: 6, keptFor: 0.1, bytes: 8)], quota: nil,
      goingTasks: [], goingBodies: [1], left: 8),
    // A task that is too old is deleted with its body, expired or not.
    Case(
      tasks: [task(1, age: 101, keptFor: 9, bytes: 7), task(2, age: 102, keptFor: -1, bytes: 8)], quota: nil,
      goingTasks: [2, 1], goingBodies: [], left: 0),
    // A total equal to the quota is allowed.
    Case(
      tasks: [task(1, age: 2, keptFor: 9, bytes: 5), task(2, age: 1, keptFor: 9, bytes: 5)], quota: 10,
      goingTasks: [], goingBodies: [], left: 10),
    // The oldest bodies first, and only as many as necessary. A task without a body frees no space.
    Case(
      tasks: [
        task(1, age: 1, keptFor: 9, bytes: 5), task(2, age: 4), task(3, age: 3, keptFor: 9, bytes: 1),
        task(4, age: 2, keptFor: 9, bytes: 5),
      ], quota: 9, goingTasks: [], goingBodies: [3, 4], left: 5),
    // Tasks that are too old free space before younger ones lose their bodies.
    Case(
      tasks: [
        task(1, age: 50, keptFor: 9, bytes: 5), task(2, age: 40, keptFor: -1, bytes: 5),
        task(3, age: 200, keptFor: 9, bytes: 5),
      ], quota: 5, goingTasks: [3], goingBodies: [2], left: 5),
  ]

  @Test(arguments: cases.indices) func `expired data goes before the oldest`(_ index: Int) {
    let item = Self.cases[index]
    let total = item.tasks.reduce(0) { $0 + $1.keptBytes }
    let plan = RetentionPlan(
      for: item.tasks, keptBytes: total, by: Self.retention(quota: item.quota), at: Self.now)
    #expect(plan.tasks.map(\.id.low) == item.goingTasks.map { UInt64($0) })
    #expect(plan.bodies.map(\.id.low) == item.goingBodies.map { UInt64($0) })
    #expect(plan.keptBytes == item.left)
    #expect(plan.isEmpty == (item.goingTasks + item.goingBodies).isEmpty)
  }

  /// For random tasks, the plan is complete and minimal.
  @Test(arguments: 0..<40) func `plan is complete and minimal for random tasks`(_ seed: UInt64) {
    var random = SplitMix64(seed: seed)
    for _ in 0..<50 {
      let tasks = (0..<Int.random(in: 0...40, using: &random)).map { number in
        let hasBody = Bool.random(using: &random)
        return Self.task(
          number, age: Double(Int.random(in: 0...120, using: &random)),
          keptFor: hasBody ? Double(Int.random(in: -20...80, using: &random)) : nil,
          bytes: hasBody ? .random(in: 0...9, using: &random) : 0)
      }
      let elsewhere = Int64.random(in: 0...20, using: &random)
      let quota = Bool.random(using: &random) ? Int64.random(in: 1...90, using: &random) : nil
      check(tasks, elsewhere: elsewhere, quota: quota)
    }
  }

  private func check(_ tasks: [FinishedTask], elsewhere: Int64, quota: Int64?) {
    let total = tasks.reduce(elsewhere) { $0 + $1.keptBytes }
    let plan = RetentionPlan(
      for: tasks, keptBytes: total, by: Self.retention(quota: quota), at: Self.now)
    let (gone, emptied) = (Set(plan.tasks.map(\.id)), Set(plan.bodies.map(\.id)))
    #expect(gone.isDisjoint(with: emptied))
    let left = tasks.filter { !gone.contains($0.id) && !emptied.contains($0.id) }
    #expect(plan.keptBytes == left.reduce(elsewhere) { $0 + $1.keptBytes })
    for task in tasks { #expect(gone.contains(task.id) == (Self.now.since(task.endedAt) >= 100)) }
    #expect(left.allSatisfy { $0.keptUntil.map { $0 > Self.now } ?? true })
    let early = plan.bodies.filter { $0.keptUntil.map { $0 > Self.now } ?? false }
    guard let quota else { return #expect(early.isEmpty) }
    let leftBodies = left.filter { $0.keptBytes > 0 }
    #expect(plan.keptBytes <= quota || leftBodies.isEmpty)
    guard let newest = early.last else { return }
    #expect(plan.keptBytes + newest.keptBytes > quota)
    #expect(leftBodies.allSatisfy { ($0.endedAt, $0.id) > (newest.endedAt, newest.id) })
  }
}

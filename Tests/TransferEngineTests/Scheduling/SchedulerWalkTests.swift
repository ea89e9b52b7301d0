import TestSupport
import Testing
import TransferModel

@testable import TransferEngine

/// A simple and slow model of the scheduler.
private struct NaiveScheduler {
  struct Waiting {
    let task: TaskID
    let lane: Int
    let priority: Double
    let serial: Int
  }
  let maximumActive: Int
  let limits: [Int]
  var waiting: [Waiting] = []
  var active: [TaskID: Int] = [:]
  var serial = 0
  /// The number of starts in other lanes since each lane could have started a task.
  var patience: [Int]

  init(maximumActive: Int, limits: [Int]) {
    self.maximumActive = maximumActive
    self.limits = limits
    patience = Array(repeating: 0, count: limits.count)
  }

  func isFree(_ lane: Int) -> Bool { active.values.count { $0 == lane } < limits[lane] }
  func canStart(_ lane: Int) -> Bool { isFree(lane) && waiting.contains { $0.lane == lane } }

  /// Starts a task, if the rules permit it.
  mutating func start(_ task: TaskID) throws {
    let index = try #require(
      waiting.firstIndex { $0.task == task }, "a task was started that was not waiting")
    let chosen = waiting[index]
    try #require(active.count < maximumActive)
    try #require(isFree(chosen.lane))
    let isBest = waiting.allSatisfy { other in
      other.lane != chosen.lane
        || (chosen.priority, -chosen.serial) >= (other.priority, -other.serial)
    }
    try #require(isBest, "the started task is not the most urgent of its lane")
    for lane in limits.indices {
      patience[lane] = lane == chosen.lane || !canStart(lane) ? 0 : patience[lane] + 1
      // The lanes ahead of this one, and the lane that took the slot in which this one became free.
      try #require(patience[lane] <= limits.count, "lane \(lane) starves")
    }
    waiting.remove(at: index)
    active[task] = chosen.lane
  }

  /// Checks that no task waits that could run.
  mutating func checkBusy() throws {
    for lane in limits.indices where !canStart(lane) { patience[lane] = 0 }
    guard active.count < maximumActive else { return }
    for lane in limits.indices { try #require(!canStart(lane), "lane \(lane) is idle") }
  }
}

@Suite struct SchedulerWalkTests {
  @Test(arguments: [(UInt64(1), 4), (2, 1), (3, 9), (4, 1000)])
  func `scheduler agrees with the model`(_ seed: UInt64, _ maximumActive: Int) throws {
    var generator = SplitMix64(seed: seed)
    let limits = [1, 2, 3, 6, 2]
    let lanes = limits.indices.map { Scheduler.Queue(session: .shared, origin: "http://\($0):80") }
    var scheduler = Scheduler(maximumActive: maximumActive)
    var model = NaiveScheduler(maximumActive: maximumActive, limits: limits)
    var (submitted, removed) = (0, 0)
    for step in 0..<20_000 {
      // The load rises and falls, so that queues fill and drain.
      let share = step / 500 % 2 == 0 ? 6 : 4
      let isSubmit = Int.random(in: 0..<10, using: &generator) < share && model.waiting.count < 150
      let started: [TaskID]
      if isSubmit || (model.active.isEmpty && model.waiting.isEmpty) {
        submitted += 1
        let task = TaskID(high: 1, low: UInt64(submitted))
        let lane = Int.random(in: limits.indices, using: &generator)
        let priority = Double(Int.random(in: 0...4, using: &generator)) / 4
        model.serial += 1
        model.waiting.append(.init(task: task, lane: lane, priority: priority, serial: model.serial))
        started = scheduler.submit(task, in: lanes[lane], limit: limits[lane], priority: priority)
      } else {
        removed += 1
        let task = try #require(victim(of: model, using: &generator))
        model.active[task] = nil
        model.waiting.removeAll { $0.task == task }
        started = scheduler.remove(task)
      }
      for task in started { try model.start(task) }
      try model.checkBusy()
      try #require(scheduler.active == model.active.count, "step \(step)")
      try #require(scheduler.countOfWaiting == model.waiting.count, "step \(step)")
    }
    try drain(&scheduler, &model)
    #expect(submitted > 5000 && removed > 5000)
  }

  private func victim(of model: NaiveScheduler, using generator: inout SplitMix64) -> TaskID? {
    let running = model.active.keys.sorted()
    let takesWaiting = running.isEmpty || Int.random(in: 0..<5, using: &generator) == 0
    if takesWaiting, let one = model.waiting.randomElement(using: &generator) { return one.task }
    return running.randomElement(using: &generator)
  }

  /// Ends all tasks. With every end another task starts, until none is left, so no task is lost.
  private func drain(_ scheduler: inout Scheduler, _ model: inout NaiveScheduler) throws {
    while let task = model.active.keys.min() {
      model.active[task] = nil
      for next in scheduler.remove(task) { try model.start(next) }
      try model.checkBusy()
    }
    #expect(model.waiting.isEmpty)
    #expect(scheduler.active == 0)
    #expect(scheduler.countOfWaiting == 0)
  }
}

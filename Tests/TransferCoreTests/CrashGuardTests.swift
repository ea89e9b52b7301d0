import TestSupport
import Testing
import TransferModel

@testable import TransferCore

@Suite struct CrashGuardTests {
  private let tasks = (1...4).map { TaskID(high: 1, low: UInt64($0)) }

  @Test(
    arguments: [(0, "start"), (1, "start"), (2, "suspect"), (4, "suspect"), (5, "fail"), (9, "fail")])
  func `crash count decides the first action`(_ deaths: Int, _ expected: String) {
    var crashes = CrashGuard()
    crashes.recovered(tasks[0], deaths: deaths)
    #expect(crashes.isSuspect(tasks[0]) == (expected == "suspect"))
    #expect(crashes.next() == [expected == "fail" ? .fail(tasks[0], deaths: deaths) : .start(tasks[0])])
    #expect(crashes.next().isEmpty, "a task is returned once")
  }

  @Test func `suspects start one at a time, fewest crashes first`() {
    var crashes = CrashGuard()
    for (task, deaths) in zip(tasks, [4, 2, 3, 2]) { crashes.recovered(task, deaths: deaths) }
    #expect(crashes.next() == [.start(tasks[1])])
    #expect(crashes.next().isEmpty)
    crashes.progressed(tasks[1])
    #expect(!crashes.isSuspect(tasks[1]))
    #expect(crashes.next() == [.start(tasks[3])])
    crashes.ended(tasks[3])
    #expect(crashes.next() == [.start(tasks[2])])
    crashes.endTrial(tasks[2])
    #expect(crashes.isSuspect(tasks[2]))
    #expect(crashes.next() == [.start(tasks[0])])
  }

  @Test func `other tasks do not wait for suspects`() {
    var crashes = CrashGuard()
    for (task, deaths) in zip(tasks, [3, 0, 5, 1]) { crashes.recovered(task, deaths: deaths) }
    #expect(
      crashes.next() == [.start(tasks[1]), .fail(tasks[2], deaths: 5), .start(tasks[3]), .start(tasks[0])])
  }

  @Test func `suspect that waited is tried alone again`() {
    var crashes = CrashGuard()
    for task in tasks.prefix(2) { crashes.recovered(task, deaths: 2) }
    #expect(crashes.next() == [.start(tasks[0])])
    crashes.endTrial(tasks[0])
    #expect(crashes.next() == [.start(tasks[1])])
    crashes.isDue(tasks[0])
    crashes.isDue(tasks[0])
    #expect(crashes.next().isEmpty, "no start while another suspect is being tried")
    crashes.progressed(tasks[1])
    #expect(crashes.next() == [.start(tasks[0])])
    crashes.isDue(tasks[0])
    crashes.ended(tasks[0])
    #expect(crashes.next().isEmpty)
  }

  @Test func `task that is not a suspect continues at once`() {
    var crashes = CrashGuard()
    for (task, deaths) in zip(tasks, [2, 1]) { crashes.recovered(task, deaths: deaths) }
    _ = crashes.next()
    crashes.endTrial(tasks[1])
    crashes.isDue(tasks[1])
    crashes.isDue(tasks[3])
    #expect(crashes.next() == [.start(tasks[1]), .start(tasks[3])])
  }

  @Test func `task that ended before its turn is not started`() {
    var crashes = CrashGuard()
    for (task, deaths) in zip(tasks, [2, 0, 3]) { crashes.recovered(task, deaths: deaths) }
    crashes.ended(tasks[0])
    crashes.ended(tasks[1])
    #expect(crashes.next() == [.start(tasks[2])])
  }
}

/// A model of workers that crash and recover, with the rules of the guard written out plainly.
private struct Workers {
  struct Task {
    let isPoisoned: Bool
    /// The number of steps to the task's end.
    var left: Int
    /// The count that the disk has.
    var deaths = 0
    var state = State.waiting
    enum State { case due, running, waiting, finished, failed }
  }
  var tasks: [TaskID: Task]
  var crashes = CrashGuard()
  /// The suspect that runs and has made no progress yet.
  var tried: TaskID?
  var deaths = 0

  init(innocent: Int, poisoned: Int, using generator: inout SplitMix64) throws {
    tasks = [:]
    let numbers = (0..<(innocent + poisoned)).map(UInt64.init).shuffled(using: &generator)
    for (index, number) in numbers.enumerated() {
      let left = Int.random(in: 1...6, using: &generator)
      tasks[TaskID(high: 1, low: number)] = Task(isPoisoned: index < poisoned, left: left)
    }
    try recover()
  }

  func all(_ state: Task.State) -> [TaskID] { tasks.keys.filter { tasks[$0]?.state == state }.sorted() }
  func isSuspect(_ task: TaskID) -> Bool {
    tasks[task, default: .init(isPoisoned: false, left: 0)].deaths >= 2
  }

  /// Starts a new worker, which recovers the unfinished tasks.
  mutating func recover() throws {
    crashes = CrashGuard()
    tried = nil
    for (id, task) in tasks.sorted(by: { $0.key < $1.key })
    where task.state != .finished && task.state != .failed {
      tasks[id]?.state = .due
      crashes.recovered(id, deaths: task.deaths)
    }
    try act()
  }

  mutating func act() throws {
    for action in crashes.next() {
      switch action {
      case .start(let id):
        try #require(tasks[id]?.state == .due, "a task was started before it was due")
        if isSuspect(id) { try check(trial: id) }
        tasks[id]?.state = .running
      case .fail(let id, let deaths):
        try #require(tasks[id]?.deaths == deaths && deaths >= 5)
        tasks[id]?.state = .failed
      }
    }
    try #require(all(.due).allSatisfy(isSuspect), "a task without suspicion was not started at once")
    try #require(tried != nil || all(.due).isEmpty, "no suspect is being tried, although one is due")
  }

  private mutating func check(trial id: TaskID) throws {
    try #require(tried == nil, "two suspects are being tried at once")
    let least = all(.due).filter { isSuspect($0) && tasks[$0]!.deaths < 5 }.map { tasks[$0]!.deaths }.min()
    try #require(tasks[id]?.deaths == least, "a suspect with fewer crashes is due")
    tried = id
  }

  /// Lets a running task make a random step. A poisoned task always crashes the worker.
  mutating func step(_ id: TaskID, using generator: inout SplitMix64) throws {
    if tasks[id]?.isPoisoned == true { return try die() }
    switch Int.random(in: 0..<4, using: &generator) {
    case 0:
      tasks[id]?.state = .waiting
      crashes.endTrial(id)
    default:
      tasks[id]?.left -= 1
      tasks[id]?.deaths = 0
      if tasks[id]?.left == 0 {
        tasks[id]?.state = .finished
        crashes.ended(id)
      } else {
        crashes.progressed(id)
      }
    }
    if tried == id { tried = nil }
    try act()
  }

  mutating func wake(_ id: TaskID) throws {
    tasks[id]?.state = .due
    crashes.isDue(id)
    try act()
  }

  mutating func die() throws {
    deaths += 1
    for id in all(.running) { tasks[id]?.deaths += 1 }
    try recover()
  }
}

@Suite struct CrashGuardWalkTests {
  @Test(arguments: [0, 1, 2, 5], [UInt64(1), 2, 3])
  func `poisoned tasks fail and all others finish`(_ poisoned: Int, _ seed: UInt64) throws {
    var generator = SplitMix64(seed: seed)
    for _ in 0..<60 {
      let innocent = Int.random(in: 0...12, using: &generator)
      var workers = try Workers(innocent: innocent, poisoned: poisoned, using: &generator)
      for _ in 0..<10_000 {
        let (running, waiting) = (workers.all(.running), workers.all(.waiting))
        if !waiting.isEmpty, running.isEmpty || Bool.random(using: &generator) {
          try workers.wake(try #require(waiting.randomElement(using: &generator)))
        } else if let id = running.randomElement(using: &generator) {
          try workers.step(id, using: &generator)
        } else {
          break
        }
      }
      #expect(workers.tasks.values.allSatisfy { $0.state == ($0.isPoisoned ? .failed : .finished) })
      // The first two crashes affect all tasks together. After that, each poisoned task is tried alone.
      #expect(workers.deaths <= (poisoned == 0 ? 0 : 2 + 3 * poisoned))
    }
  }

  /// The worst order: a poisoned task always acts before any other task makes progress.
  @Test func `poisoned tasks that always act first fail alone`() throws {
    var generator = SplitMix64(seed: 7)
    var workers = try Workers(innocent: 50, poisoned: 3, using: &generator)
    while let id = workers.all(.running).first(where: { workers.tasks[$0]?.isPoisoned == true })
      ?? workers.all(.running).first ?? workers.all(.waiting).first
    {
      if workers.tasks[id]?.state == .waiting {
        try workers.wake(id)
      } else {
        try workers.step(id, using: &generator)
      }
      #expect(workers.tasks.values.allSatisfy { $0.isPoisoned || $0.deaths <= 2 })
    }
    #expect(workers.tasks.values.allSatisfy { $0.state == ($0.isPoisoned ? .failed : .finished) })
    #expect(workers.deaths == 2 + 3 * 3)
  }
}

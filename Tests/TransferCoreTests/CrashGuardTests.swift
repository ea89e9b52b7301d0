import TestSupport
import Testing
import TransferModel

@testable import TransferCore

@Suite struct CrashGuardTests {
  private let tasks = (1...4).map { TaskID(high: 1, low: UInt64($0)) }

  @Test(
    arguments: [(0, "start"), (1, "start"), (2, "suspect"), (4, "suspect"), (5, "fail"), (9, "fail")])
  func oneTask(_ deaths: Int, _ expected: String) {
    var crashes = CrashGuard()
    crashes.recovered(tasks[0], deaths: deaths)
    #expect(crashes.isSuspect(tasks[0]) == (expected == "suspect"))
    #expect(crashes.next() == [expected == "fail" ? .fail(tasks[0], deaths: deaths) : .start(tasks[0])])
    #expect(crashes.next().isEmpty, "told once")
  }

  @Test func suspectsGoOneAtATimeTheLeastSuspiciousFirst() {
    var crashes = CrashGuard()
    for (task, deaths) in zip(tasks, [4, 2, 3, 2]) { crashes.recovered(task, deaths: deaths) }
    #expect(crashes.next() == [.start(tasks[1])])
    #expect(crashes.next().isEmpty)
    crashes.progressed(tasks[1])
    #expect(!crashes.isSuspect(tasks[1]))
    #expect(crashes.next() == [.start(tasks[3])])
    crashes.ended(tasks[3])
    #expect(crashes.next() == [.start(tasks[2])])
    crashes.waits(tasks[2])
    #expect(crashes.isSuspect(tasks[2]))
    #expect(crashes.next() == [.start(tasks[0])])
  }

  @Test func othersDoNotWaitForSuspects() {
    var crashes = CrashGuard()
    for (task, deaths) in zip(tasks, [3, 0, 5, 1]) { crashes.recovered(task, deaths: deaths) }
    #expect(
      crashes.next() == [.start(tasks[1]), .fail(tasks[2], deaths: 5), .start(tasks[3]), .start(tasks[0])])
  }

  @Test func aSuspectThatWaitedIsTriedAloneAgain() {
    var crashes = CrashGuard()
    for task in tasks.prefix(2) { crashes.recovered(task, deaths: 2) }
    #expect(crashes.next() == [.start(tasks[0])])
    crashes.waits(tasks[0])
    #expect(crashes.next() == [.start(tasks[1])])
    crashes.isDue(tasks[0])
    crashes.isDue(tasks[0])
    #expect(crashes.next().isEmpty, "another is being tried")
    crashes.progressed(tasks[1])
    #expect(crashes.next() == [.start(tasks[0])])
    crashes.isDue(tasks[0])
    crashes.ended(tasks[0])
    #expect(crashes.next().isEmpty)
  }

  @Test func whoeverIsNoSuspectGoesOnAtOnce() {
    var crashes = CrashGuard()
    for (task, deaths) in zip(tasks, [2, 1]) { crashes.recovered(task, deaths: deaths) }
    _ = crashes.next()
    crashes.waits(tasks[1])
    crashes.isDue(tasks[1])
    crashes.isDue(tasks[3])
    #expect(crashes.next() == [.start(tasks[1]), .start(tasks[3])])
  }

  @Test func whatEndsBeforeItsTurnIsNotStarted() {
    var crashes = CrashGuard()
    for (task, deaths) in zip(tasks, [2, 0, 3]) { crashes.recovered(task, deaths: deaths) }
    crashes.ended(tasks[0])
    crashes.ended(tasks[1])
    #expect(crashes.next() == [.start(tasks[2])])
  }
}

/// Workers that die, and what their successors do with what they left; the guard's rules said slowly.
private struct Workers {
  struct Task {
    let isPoisoned: Bool
    /// Steps to its end.
    var left: Int
    /// As they lie on the disk.
    var deaths = 0
    var state = State.waiting
    enum State { case due, running, waiting, finished, failed }
  }
  var tasks: [TaskID: Task]
  var crashes = CrashGuard()
  /// The suspect that runs and has not got further.
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

  /// A new worker finds what is unfinished.
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
        try #require(tasks[id]?.state == .due, "started without being due")
        if isSuspect(id) { try check(trial: id) }
        tasks[id]?.state = .running
      case .fail(let id, let deaths):
        try #require(tasks[id]?.deaths == deaths && deaths >= 5)
        tasks[id]?.state = .failed
      }
    }
    try #require(all(.due).allSatisfy(isSuspect), "others start at once")
    try #require(tried != nil || all(.due).isEmpty, "nobody is tried though somebody could be")
  }

  private mutating func check(trial id: TaskID) throws {
    try #require(tried == nil, "two suspects at once")
    let least = all(.due).filter { isSuspect($0) && tasks[$0]!.deaths < 5 }.map { tasks[$0]!.deaths }.min()
    try #require(tasks[id]?.deaths == least, "a less suspicious one is due")
    tried = id
  }

  /// One of the running tasks does something; a poisoned one can do one thing only.
  mutating func step(_ id: TaskID, using generator: inout SplitMix64) throws {
    if tasks[id]?.isPoisoned == true { return try die() }
    switch Int.random(in: 0..<4, using: &generator) {
    case 0:
      tasks[id]?.state = .waiting
      crashes.waits(id)
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
  func thePoisonedFailAndAllOthersFinish(_ poisoned: Int, _ seed: UInt64) throws {
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
      // The first two meet them all, then each is met alone.
      #expect(workers.deaths <= (poisoned == 0 ? 0 : 2 + 3 * poisoned))
    }
  }

  /// The worst order: whoever kills acts before anybody gets further.
  @Test func aKillerThatIsAlwaysFirstTakesNobodyWithIt() throws {
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

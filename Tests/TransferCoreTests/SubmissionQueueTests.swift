import HTTPFields
import TestSupport
import Testing
import TransferModel

@testable import TransferCore

/// A session submits few large tasks at a time. Further ones wait in the ledger.
@Suite struct SubmissionQueueTests {
  private static let capacity = 100_000

  private static func stage(_ type: SessionType = .default) -> SessionMachineHarness {
    SessionMachineHarness(type, submittedBytes: capacity)
  }

  /// Creates running tasks.
  private static func create(
    _ count: Int, of size: Int, in stage: inout SessionMachineHarness, at date: Timestamp? = nil
  ) -> [TaskID] {
    (0..<count).map { _ in
      stage.create(.download) { specification in
        specification.request.headers.append("X-Long", String(repeating: "x", count: size))
        specification.earliestBeginDate = date
      }
    }
  }

  /// Returns the tasks submitted since the last call.
  private static func submitted(_ stage: inout SessionMachineHarness) -> [TaskID] {
    stage.takeOrders().compactMap { if case .submit(let task) = $0 { task.id } else { nil } }
  }

  private static func end(_ id: TaskID, _ stage: inout SessionMachineHarness, error: URLErrorCode? = nil) {
    guard let task = stage.machine.task(id)?.task else {
      Issue.record("the task is not in memory")
      return
    }
    stage.fact(.ended(id, .end(of: task, at: stage.now.wall, error: error)))
  }

  /// Starts the tasks that were called.
  private static func answerCalls(_ stage: inout SessionMachineHarness) {
    for alarm in stage.takeAlarms() {
      guard case .begin(let id, let date) = alarm, date <= stage.now.wall else { continue }
      stage.load(id)
      stage.give(.begin(id))
    }
  }

  private static func patch(
    _ id: TaskID, _ stage: inout SessionMachineHarness, _ change: (inout TaskPatch) -> Void
  ) -> InputResult {
    var patch = TaskPatch()
    change(&patch)
    stage.load(id)
    return stage.give(.change(id, patch))
  }

  @Test func `tasks beyond the bound are evicted and begin in order`() {
    var stage = Self.stage()
    let ids = Self.create(5, of: 40_000, in: &stage)
    #expect(Self.submitted(&stage) == [ids[0], ids[1]])
    stage.evict()
    #expect(ids.map { stage.machine.tasks.isEvicted($0) } == [false, false, true, true, true])
    #expect(
      stage.rows[ids[2]]?.executionState.goesOn == true,
      "the next owner submits the task if this process dies")
    stage.fact(.began(ids[1], at: stage.now.wall))
    #expect(stage.takeAlarms().isEmpty, "a started task sets no timer")
    Self.end(ids[1], &stage)
    #expect(!stage.machine.isQuiet, "the evicted task is being read")
    Self.answerCalls(&stage)
    #expect(Self.submitted(&stage) == [ids[2]])
    #expect(stage.rows[ids[2]]?.executionState.goesOn == false)
    Self.end(ids[0], &stage)
    Self.answerCalls(&stage)
    #expect(Self.submitted(&stage) == [ids[3]])
    #expect(stage.types(of: ids[4]) == [.taskDidCreate, .taskDidChangeState], "the wait causes no event")
  }

  @Test func `small tasks never wait, and one large task always begins`() {
    var stage = Self.stage()
    let huge = Self.create(1, of: 200_000, in: &stage)
    let waiting = Self.create(1, of: 5_000, in: &stage)
    let small = Self.create(50, of: 3_000, in: &stage)
    #expect(Self.submitted(&stage) == huge + small)
    Self.end(huge[0], &stage)
    Self.answerCalls(&stage)
    #expect(Self.submitted(&stage) == waiting)
  }

  @Test func `priority decides which task is next`() {
    var stage = Self.stage()
    let ids = Self.create(5, of: 60_000, in: &stage)
    for priority in [0.1, 0.9, 0.2, 0.9] { _ = Self.patch(ids[3], &stage) { $0.priority = priority } }
    var order: [TaskID] = []
    for _ in ids {
      let next = Self.submitted(&stage)
      order += next
      for id in next { Self.end(id, &stage) }
      Self.answerCalls(&stage)
    }
    #expect(order == [ids[0], ids[3], ids[1], ids[2], ids[4]])
  }

  @Test func `suspended or cancelled task leaves the queue`() {
    var stage = Self.stage()
    let ids = Self.create(4, of: 60_000, in: &stage)
    stage.give(.suspend(ids[1]))
    stage.give(.cancel(ids[2], keepsPartial: false))
    #expect(stage.ends == [ids[2]: 1])
    _ = stage.takeOrders()
    Self.end(ids[0], &stage)
    Self.answerCalls(&stage)
    #expect(Self.submitted(&stage) == [ids[3]])
    stage.give(.resume(ids[1]))
    #expect(Self.submitted(&stage).isEmpty)
    Self.end(ids[3], &stage)
    Self.answerCalls(&stage)
    #expect(Self.submitted(&stage) == [ids[1]])
  }

  /// Otherwise, a task that is never resumed would block the others.
  @Test func `suspended task makes room for others`() {
    var stage = Self.stage()
    let ids = Self.create(40, of: 90_000, in: &stage)
    for id in ids {
      Self.answerCalls(&stage)
      stage.load(id)
      stage.give(.suspend(id))
      stage.evict()
    }
    #expect(Self.submitted(&stage) == Array(ids[..<18]), "paused tasks have a limit of 16 times the bytes")
    for id in ids[20...] {
      stage.load(id)
      stage.give(.resume(id))
      stage.evict()
    }
    #expect(Self.submitted(&stage).isEmpty)
    stage.give(.cancel(ids[0], keepsPartial: false))
    Self.end(ids[0], &stage, error: .cancelled)
    Self.answerCalls(&stage)
    #expect(Self.submitted(&stage) == [ids[20]])
    stage.give(.resume(ids[1]))
    Self.end(ids[20], &stage)
    Self.answerCalls(&stage)
    #expect(Self.submitted(&stage).isEmpty, "the resumed task counts against the limit again")
  }

  /// A called task blocks no other task if it gets a later begin date, or if its row is unreadable.
  @Test func `called task that does not begin lets the next one begin`() {
    var stage = Self.stage()
    let ids = Self.create(4, of: 60_000, in: &stage)
    stage.evict()
    _ = stage.takeOrders()
    Self.end(ids[0], &stage)
    #expect(stage.takeAlarms().contains(.begin(ids[1], at: Timestamp(microseconds: 0))))
    let later = stage.now.wall.adding(seconds: 1000)
    _ = Self.patch(ids[1], &stage) { $0.earliestBeginDate = later }
    #expect(
      stage.takeAlarms() == [.begin(ids[1], at: later), .begin(ids[2], at: Timestamp(microseconds: 0))])
    // The row of the called task cannot be read.
    stage.give(.begin(ids[2]))
    let isTriedAgain = stage.takeAlarms().contains { alarm in
      if case .begin(ids[2], let date) = alarm { date > stage.now.wall } else { false }
    }
    #expect(isTriedAgain && Self.submitted(&stage).isEmpty)
    stage.load(ids[3])
    stage.give(.begin(ids[3]))
    #expect(Self.submitted(&stage) == [ids[3]])
  }

  /// The worker waits for begin dates and further attempts.
  @Test func `background tasks that wait in the worker delay no other task`() {
    var stage = Self.stage(.background)
    let date = stage.now.wall.adding(seconds: 1000)
    let later = Self.create(1, of: 60_000, in: &stage, at: date)
    let ids = Self.create(3, of: 60_000, in: &stage)
    #expect(Self.submitted(&stage) == later + [ids[0]])
    stage.give(
      .fact(
        .willRetry(
          ids[0], count: 1, at: stage.now.wall,
          wait: RetryWait(lastError: TransferError(.timedOut, ""), nextAttemptAt: stage.now.wall))))
    Self.answerCalls(&stage)
    #expect(Self.submitted(&stage) == [ids[1]])
    stage.fact(.began(ids[0], at: stage.now.wall))
    Self.end(ids[1], &stage)
    Self.answerCalls(&stage)
    #expect(Self.submitted(&stage).isEmpty, "the first task counts against the limit again")
    Self.end(ids[0], &stage)
    Self.answerCalls(&stage)
    #expect(Self.submitted(&stage) == [ids[2]])
    Self.end(ids[2], &stage)
    stage.now.wall = date
    stage.give(.fact(.beganDelayed(later[0], at: date)))
    _ = Self.create(1, of: 60_000, in: &stage)
    #expect(Self.submitted(&stage).isEmpty)
  }

  /// A client learns that the date of a task has come when there is room for the task.
  @Test func `delayed task is announced only when there is room`() throws {
    var stage = Self.stage()
    let first = Self.create(1, of: 60_000, in: &stage)[0]
    let date = stage.now.wall.adding(seconds: 10)
    let second = Self.create(1, of: 60_000, in: &stage, at: date)[0]
    stage.now.wall = date
    stage.give(.begin(second))
    let row = try #require(stage.rows[second])
    #expect(row.executionState.goesOn && !stage.types(of: second).contains(.taskWillBeginDelayedRequest))
    var next = SessionMachineHarness(after: stage, submittedBytes: Self.capacity)
    next.give(.recovered(row))
    next.give(.recoveredAll)
    #expect(next.types(of: second).last == .taskWillBeginDelayedRequest)
    Self.end(first, &stage)
    Self.answerCalls(&stage)
    #expect(stage.types(of: second).last == .taskWillBeginDelayedRequest)
  }

  /// A delegate that does not answer blocks no other task. The tasks that wait for it count as paused.
  @Test func `task that waits for a decision makes room for others`() {
    var delegate = SessionDelegate()
    delegate.asksForDelayedRequests = true
    var stage = SessionMachineHarness(delegate: delegate, submittedBytes: Self.capacity)
    let date = stage.now.wall.adding(seconds: -1)
    let asking = Self.create(20, of: 90_000, in: &stage, at: date)
    for _ in asking { Self.answerCalls(&stage) }
    #expect(stage.inquiries.count == 18, "paused tasks have a limit of 16 times the bytes")
    for id in asking { stage.give(.suspend(id)) }
    #expect(
      Self.create(1, of: 5_000, in: &stage).allSatisfy { stage.rows[$0]?.executionState.goesOn == true })
    for id in asking { stage.give(.cancel(id, keepsPartial: false)) }
    Self.answerCalls(&stage)
    #expect(Self.submitted(&stage).count == 1)
  }

  @Test func `cancelling a session begins no task`() {
    var stage = Self.stage()
    let ids = Self.create(4, of: 60_000, in: &stage)
    _ = stage.takeOrders()
    stage.give(.invalidate)
    _ = stage.machine.tasksToCancel()
    stage.give(.cancelTasks([ids[0]]))
    Self.end(ids[0], &stage, error: .cancelled)
    Self.answerCalls(&stage)
    #expect(
      Self.submitted(&stage).isEmpty && stage.ends[ids[1]] == 1, "the task is cancelled instead of submitted")
  }

  /// A longer description must not exceed the bound either.
  @Test func `longer description needs room`() {
    var stage = Self.stage()
    let ids = Self.create(3, of: 3_000, in: &stage)
    let long = String(repeating: "d", count: 60_000)
    _ = Self.patch(ids[0], &stage) { $0.description = long }
    guard case .refused(.noRoom) = Self.patch(ids[1], &stage, { $0.description = long }) else {
      Issue.record("the change was not refused for lack of room")
      return
    }
    let large = Self.create(1, of: 60_000, in: &stage)
    #expect(Self.submitted(&stage) == ids)
    _ = Self.patch(ids[0], &stage) { $0.description = .some(nil) }
    Self.answerCalls(&stage)
    #expect(Self.submitted(&stage) == large)
  }

  @Test func `next service submits the waiting tasks`() {
    var stage = Self.stage()
    let ids = Self.create(4, of: 60_000, in: &stage)
    stage.evict()
    var next = SessionMachineHarness(after: stage, submittedBytes: Self.capacity)
    for id in ids { if let row = stage.rows[id] { next.give(.recovered(row)) } }
    next.give(.recoveredAll)
    #expect(next.ends == [ids[0]: 1], "a task whose request may have been sent fails")
    #expect(Self.submitted(&next) == [ids[1]])
  }

  /// At every step the submitted tasks stay within the bound, and at the end every task was submitted.
  @Test(arguments: 1...100) func `random tasks stay within the bound and are all submitted`(_ seed: UInt64) {
    var (random, stage) = (RandomSource(seed: seed), Self.stage())
    var (live, submitted, suspended): ([TaskID], Set<TaskID>, Set<TaskID>) = ([], [], [])
    func step() {
      for id in Self.submitted(&stage) {
        #expect(submitted.insert(id).inserted && !suspended.contains(id))
      }
      let sizes = submitted.subtracting(suspended).compactMap { stage.machine.task($0)?.task.textSize }
        .filter { $0 > 4096 }
      #expect(sizes.reduce(0, +) <= Self.capacity)
      if random.next() % 2 == 0 { stage.evict() }
    }
    for _ in 0..<120 {
      let id = live.isEmpty ? nil : live[Int(random.next() % UInt64(live.count))]
      switch (random.next() % 7, id) {
      case (0...2, _):
        live += Self.create(1, of: 2_000 + Int(random.next() % 60_000), in: &stage)
      case (3, let id?) where submitted.contains(id):
        Self.end(id, &stage)
        live.removeAll { $0 == id }
      case (4, let id?) where !submitted.contains(id) && !suspended.contains(id):
        stage.load(id)
        stage.give(.suspend(id))
        suspended.insert(id)
      case (5, let id?) where suspended.contains(id):
        suspended.remove(id)
        stage.load(id)
        stage.give(.resume(id))
      case (6, let id?): _ = Self.patch(id, &stage) { $0.priority = Double(random.next() % 10) / 10 }
      default: Self.answerCalls(&stage)
      }
      step()
    }
    for id in suspended {
      stage.load(id)
      stage.give(.resume(id))
    }
    suspended = []
    for _ in 0...(2 * live.count) {
      step()
      for id in live where submitted.contains(id) && stage.ends[id] == nil { Self.end(id, &stage) }
      Self.answerCalls(&stage)
    }
    #expect(live.allSatisfy(submitted.contains))
  }
}

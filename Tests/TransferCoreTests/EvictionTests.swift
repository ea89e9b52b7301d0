import HTTPFields
import Testing
import TransferModel

@testable import TransferCore

/// Large idle tasks are evicted, and read from their rows before their next change.
@Suite struct EvictionTests {
  private static let long = String(repeating: "x", count: 2000)

  /// Returns a harness with a large task that waits.
  private static func waiting(
    isRunning: Bool = false, _ change: (inout TaskSpecification) -> Void = { _ in }
  ) -> (SessionMachineHarness, TaskID) {
    var stage = SessionMachineHarness()
    let id = stage.create(isRunning: isRunning) { specification in
      specification.request.headers.append("X-Long", long)
      change(&specification)
    }
    stage.evict()
    return (stage, id)
  }

  @Test func `large suspended task is evicted`() {
    var (stage, id) = Self.waiting()
    #expect(
      stage.machine.tasks.isEvicted(id) && stage.machine.tasks.contains(id) && stage.machine.task(id) == nil)
    #expect(stage.machine.unfinishedIDs == [id] && stage.machine.residentTasks.isEmpty)
    #expect(stage.machine.unfinished == 1 && stage.machine.isQuiet)
    let reply = stage.give(.resume(id))
    guard case .evicted = reply else {
      Issue.record("\(reply)")
      return
    }
    #expect(stage.takeOrders().isEmpty && stage.events.count == 1)
    stage.load(id)
    stage.give(.resume(id))
    guard case .submit(let task) = stage.takeOrders().first else {
      Issue.record("the task was not submitted")
      return
    }
    #expect(task.currentRequest.headers["X-Long"] == Self.long && task.phase == .queued)
    stage.evict()
    #expect(!stage.machine.tasks.isEvicted(id), "a submitted task is not evicted")
  }

  @Test(arguments: [false, true]) func `small and running tasks stay in memory`(_ isRunning: Bool) {
    var stage = SessionMachineHarness()
    let small = stage.create(isRunning: isRunning)
    let running = stage.create { $0.request.headers.append("X-Long", Self.long) }
    stage.evict()
    #expect(stage.machine.task(small) != nil && stage.machine.task(running) != nil)
    #expect(!stage.machine.tasks.isEvicted(small) && !stage.machine.tasks.isEvicted(running))
  }

  /// The row of the earlier commit does not have the later change.
  @Test func `eviction before a change loads the task without it`() {
    var stage = SessionMachineHarness()
    let id = stage.create(isRunning: false) { $0.description = Self.long }
    var patch = TaskPatch()
    patch.priority = 0.9
    var early = stage
    stage.give(.change(id, patch))
    early.evict()
    #expect(early.machine.tasks.isEvicted(id))
    stage.evict()
    #expect(stage.machine.tasks.isEvicted(id), "the later commit permits the eviction, too")
    stage.load(id)
    #expect(stage.machine.task(id)?.task.priority == 0.9)
    stage.give(.load(early.rows[id] ?? stage.machine.residentTasks[0]))
    #expect(stage.machine.task(id)?.task.priority == 0.9, "a resident task is not read again")
  }

  /// Two commits are pending. The first one does not include the change of the second.
  @Test func `task is evicted by its last commit only`() {
    var stage = SessionMachineHarness()
    let id = stage.create(isRunning: false) { $0.description = Self.long }
    let first = stage.takeEvictions()
    var patch = TaskPatch()
    patch.priority = 0.9
    stage.give(.change(id, patch))
    stage.give(.evict(first))
    #expect(!stage.machine.tasks.isEvicted(id))
    stage.evict()
    #expect(stage.machine.tasks.isEvicted(id))
  }

  @Test func `evicted task is cancelled after it is loaded`() {
    var (stage, first) = Self.waiting()
    let second = stage.create(isRunning: false)
    stage.give(.invalidate)
    #expect(stage.machine.tasksToCancel() == [second, first], "the newest task is cancelled first")
    stage.give(.cancelTasks([second, first]))
    #expect(stage.ends == [second: 1] && stage.machine.session.state == .invalidating)
    stage.load(first)
    stage.give(.cancelTasks([first]))
    #expect(stage.ends == [second: 1, first: 1] && stage.machine.session.state == .invalid)
  }

  @Test func `task is evicted before its begin date, and begins`() {
    let date = Timestamp(seconds: 1_700_000_100)
    var (stage, id) = Self.waiting(isRunning: true) { $0.earliestBeginDate = date }
    #expect(stage.machine.tasks.isEvicted(id) && stage.alarms == [.begin(id, at: date)])
    #expect(stage.machine.cancelledAlarms == [.cancelBegin(id)])
    #expect(stage.machine.tasks.hasBeginDate { _ in false }, "the delegate of an evicted task is unknown")
    stage.now.wall = date
    stage.load(id)
    #expect(stage.machine.task(id)?.task.phase == .queued)
    stage.give(.begin(id))
    #expect(stage.takeOrders().count == 1 && stage.types(of: id).last == .taskWillBeginDelayedRequest)
  }

  /// A delegate that has agreed to the start is not asked again.
  @Test func `evicted task keeps the announcement of its start`() {
    var (stage, id) = Self.waiting(isRunning: true) { specification in
      specification.earliestBeginDate = Timestamp(seconds: 1_700_000_100)
    }
    stage.give(.beginApproved(id))
    stage.load(id)
    stage.now.wall = Timestamp(seconds: 1_700_000_200)
    stage.give(.begin(id))
    #expect(stage.takeOrders().count == 1)
    #expect(!stage.types(of: id).contains(.taskWillBeginDelayedRequest))
  }

  /// Recovery reads rows page by page, and evictions are applied in between.
  @Test func `interrupted task is not evicted before the recovery is complete`() throws {
    var old = SessionMachineHarness()
    let date = old.now.wall.adding(seconds: 3600)
    let id = old.create(.download) { specification in
      specification.earliestBeginDate = date
      specification.request.headers.append("X-Long", Self.long)
    }
    var new = SessionMachineHarness(after: old)
    new.give(.recovered(try #require(old.machine.task(id)).task))
    new.give(.beginApproved(id))
    new.evict()
    #expect(new.machine.task(id) != nil)
    new.give(.recoveredAll)
    #expect(
      new.takeOrders().count + new.alarms.count + new.ends.count > 0, "the task neither started nor ended")
  }

  /// Evictions between the inputs do not change the result.
  @Test(arguments: 1...200) func `eviction changes no event, row or command`(_ seed: UInt64) {
    var random = RandomSource(seed: seed)
    var (plain, evicting) = (SessionMachineHarness(), SessionMachineHarness())
    var ids: [TaskID] = []
    for step in 0..<40 {
      let wall = Timestamp(seconds: 1_700_000_000 + Int64(step))
      (plain.now.wall, evicting.now.wall) = (wall, wall)
      let choice = random.next() % 8
      if choice < 2 || ids.isEmpty {
        let isRunning = random.next() % 3 == 0
        let hasDate = random.next() % 2 == 0
        func create(_ stage: inout SessionMachineHarness) -> TaskID {
          stage.create(isRunning: isRunning) { specification in
            specification.description = Self.long
            if hasDate { specification.earliestBeginDate = Timestamp(seconds: 1_700_000_020) }
          }
        }
        let (id, twin) = (create(&plain), create(&evicting))
        #expect(id.low == twin.low)
        ids.append(id)
      } else {
        let id = ids[Int(random.next() % UInt64(ids.count))]
        var patch = TaskPatch()
        patch.priority = Double(random.next() % 10) / 10
        let input: SessionInput =
          switch choice {
          case 2: .resume(id)
          case 3: .suspend(id)
          case 4: .cancel(id, keepsPartial: false)
          case 5, 6: .change(id, patch)
          default: .begin(id)
          }
        plain.give(input)
        evicting.load(evicting.same(id))
        evicting.give(input.about(evicting.same(id)))
      }
      if random.next() % 2 == 0 { evicting.evict() }
    }
    for id in ids {
      let twin = evicting.same(id)
      #expect(plain.types(of: id) == evicting.types(of: twin))
      let (row, other) = (plain.rows[id], evicting.rows[twin])
      #expect(row?.lifecycle == other?.lifecycle && row?.priority == other?.priority)
      #expect(row?.description == other?.description && row?.error == other?.error)
    }
    #expect(
      plain.ends.count == evicting.ends.count && plain.takeOrders().count == evicting.takeOrders().count)
    #expect(plain.machine.unfinishedIDs.count == evicting.machine.unfinishedIDs.count)
  }
}

extension SessionMachineHarness {
  /// Returns the corresponding task of another harness, whose id differs in the time only.
  fileprivate func same(_ id: TaskID) -> TaskID { rows.keys.first { $0.low == id.low } ?? id }
}

extension SessionInput {
  fileprivate func about(_ id: TaskID) -> SessionInput {
    switch self {
    case .resume: .resume(id)
    case .suspend: .suspend(id)
    case .cancel(_, let keepsPartial): .cancel(id, keepsPartial: keepsPartial)
    case .change(_, let patch): .change(id, patch)
    default: .begin(id)
    }
  }
}

import Testing
import TransferModel

@testable import TransferCore

/// During the handover of a session, tasks that can move stop here and continue at another service.
@Suite struct SessionHandoverTests {
  /// The last argument is whether the task stops.
  @Test(arguments: [
    (TaskKind.data, "GET", false, true), (.data, "GET", true, true), (.data, "POST", false, true),
    (.data, "POST", true, false), (.download, "GET", true, true), (.download, "POST", true, false),
    (.upload, "PUT", true, true), (.upload, "POST", true, false),
  ])
  func `movable task stops`(_ kind: TaskKind, _ method: String, _ hasBegun: Bool, _ stops: Bool) throws {
    var old = SessionMachineHarness()
    let id = old.create(kind, method: method)
    if hasBegun { old.fact(.began(id, at: old.now.wall)) }
    _ = old.takeOrders()
    old.give(.prepareHandover)
    guard case .command(.cancel(keepsPartial: true), id)? = old.takeOrders().first else {
      #expect(!stops && !old.machine.isQuiet)
      return
    }
    #expect(stops && !old.machine.isQuiet)
    old.fact(.ended(id, try Self.cancelled(id, old)))
    #expect(old.machine.isQuiet && old.ends.isEmpty)
    let row = try #require(old.rows[id])
    #expect(row.state == .running && row.executionState.goesOn)
    let (new, task) = try Self.begun(row, after: old)
    #expect(
      task.id == id && task.retryCount == 1 && new.rows[id]?.executionState.goesOn == false
        && new.ends.isEmpty)
  }

  /// Recovers the task in another service, and returns the submitted task.
  private static func begun(_ row: TransferTask, after old: SessionMachineHarness) throws -> (
    SessionMachineHarness, TransferTask
  ) {
    var new = SessionMachineHarness(after: old)
    new.give(.recovered(row))
    new.give(.recoveredAll)
    guard case .submit(let task)? = new.takeOrders().first else { throw NothingBegins() }
    return (new, task)
  }
  private struct NothingBegins: Error {}

  /// The offset of a resumed download is reported once, regardless of the service that resumes it.
  @Test func `offset of a moved download is reported once`() throws {
    var old = SessionMachineHarness()
    let id = old.create(.download)
    old.fact(.began(id, at: old.now.wall))
    old.fact(.resumed(id, offset: 4, expectedTotal: 9, at: old.now.wall))
    #expect(old.types(of: id).count { $0 == .downloadTaskDidResumeAtOffset } == 1)
    old.give(.prepareHandover)
    old.fact(.ended(id, try Self.cancelled(id, old)))
    var new = SessionMachineHarness(after: old)
    new.give(.recovered(try #require(old.rows[id])))
    new.give(.recoveredAll)
    new.fact(.began(id, at: new.now.wall))
    new.fact(.resumed(id, offset: 6, expectedTotal: 9, at: new.now.wall))
    #expect(new.types(of: id) == old.types(of: id))
  }

  private static func cancelled(_ id: TaskID, _ stage: SessionMachineHarness) throws -> TransferOutcome {
    try #require(stage.machine.task(id)).task.outcome(.cancelled, "cancelled", at: stage.now.wall)
  }

  /// The first task is cancelled by its client, the second one finishes, and the third one begins too late, as after a crash.
  @Test func `task that can no longer continue elsewhere ends`() throws {
    var stage = SessionMachineHarness()
    let ids = (0..<3).map { _ in stage.create(.data, method: "POST") }
    stage.give(.prepareHandover)
    stage.give(.cancel(ids[0], keepsPartial: false))
    stage.fact(.began(ids[2], at: stage.now.wall))
    stage.fact(.ended(ids[0], try Self.cancelled(ids[0], stage)))
    var finished = try Self.cancelled(ids[1], stage)
    finished.error = nil
    stage.fact(.ended(ids[1], finished))
    stage.fact(.ended(ids[2], try Self.cancelled(ids[2], stage)))
    #expect(ids.map { stage.rows[$0]?.error?.name } == ["cancelled", nil, "networkConnectionLost"])
    #expect(stage.ends == [ids[0]: 1, ids[1]: 1, ids[2]: 1])
  }

  /// A suspended task stays suspended.
  @Test func `suspended task stops, and waits at the other service`() throws {
    var old = SessionMachineHarness()
    let id = old.create(.download)
    old.fact(.began(id, at: old.now.wall))
    old.give(.suspend(id))
    old.give(.prepareHandover)
    old.fact(.ended(id, try Self.cancelled(id, old)))
    let row = try #require(old.rows[id])
    #expect(old.machine.isQuiet && row.state == .suspended && !row.executionState.goesOn)
    var new = SessionMachineHarness(after: old)
    new.give(.recovered(row))
    new.give(.recoveredAll)
    #expect(new.takeOrders().isEmpty)
    new.give(.resume(id))
    guard case .submit? = new.takeOrders().first else {
      Issue.record("no task was submitted")
      return
    }
  }

  /// During the handover, no task begins here.
  @Test func `task created during a handover begins at the other service`() throws {
    var old = SessionMachineHarness()
    old.give(.prepareHandover)
    let id = old.create(.data, method: "POST")
    #expect(old.takeOrders().isEmpty && old.machine.isQuiet)
    let row = try #require(old.rows[id])
    #expect(row.state == .running && row.executionState.goesOn)
    let (new, task) = try Self.begun(row, after: old)
    #expect(task.id == id && task.retryCount == 0 && new.ends.isEmpty)
    // If the new service crashes, the task does not begin once more.
    #expect(new.rows[id]?.executionState.goesOn == false)
  }

  /// The decision about the start is requested once. If its service crashes, the task ends.
  @Test func `decision about the start is requested once`() throws {
    var delegate = SessionDelegate()
    delegate.asksForDelayedRequests = true
    var old = SessionMachineHarness(.default, delegate: delegate)
    old.give(.prepareHandover)
    let id = old.create { $0.earliestBeginDate = Timestamp(seconds: 0) }
    #expect(old.rows[id]?.executionState.goesOn == true)
    var asking = SessionMachineHarness(after: old)
    asking.give(.recovered(try #require(old.rows[id])))
    asking.give(.recoveredAll)
    #expect(asking.machine.task(id)?.question != nil)
    var last = SessionMachineHarness(after: asking)
    last.give(.recovered(try #require(asking.rows[id])))
    last.give(.recoveredAll)
    #expect(last.types(of: id).count { $0 == .taskWillBeginDelayedRequest } == 1)
    #expect(last.rows[id]?.error?.name == "networkConnectionLost" && last.ends == [id: 1])
  }

  /// An attempt that waits for a decision requests it again at the other service.
  @Test func `open decision is withdrawn by a handover`() throws {
    var delegate = SessionDelegate()
    delegate.taskChallenges = .ask
    var old = SessionMachineHarness(.default, delegate: delegate)
    let id = old.create(.download)
    let space = ProtectionSpace(
      host: "origin.test", port: 80, protocolName: "http", realm: "r", authenticationMethod: .httpBasic)
    let question = TransferQuestion.challenge(AuthenticationChallenge(space), .taskDidReceiveChallenge)
    old.fact(.began(id, at: old.now.wall))
    old.fact(.asked(id, 1, question, at: old.now.wall))
    let decision = try #require(old.machine.task(id)?.question?.decision)
    old.give(.prepareHandover)
    _ = old.takeOrders()
    #expect(old.machine.task(id)?.question == nil && old.machine.task(id)?.task.phase == .transferring)
    old.give(.answer(id, decision, .challenge(.cancel), shown: [], tag: nil))
    #expect(old.takeOrders().isEmpty && old.machine.task(id)?.task.state == .running)
    old.fact(.ended(id, try Self.cancelled(id, old)))
    let row = try #require(old.rows[id])
    #expect(old.machine.isQuiet && row.executionState.goesOn && old.ends.isEmpty)
    var new = SessionMachineHarness(after: old)
    new.give(.recovered(row))
    new.give(.recoveredAll)
    new.fact(.began(id, at: new.now.wall))
    new.fact(.asked(id, 1, question, at: new.now.wall))
    #expect(new.machine.task(id)?.question != nil)
  }
}

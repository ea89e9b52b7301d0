import Testing
import TransferModel

@testable import TransferCore

/// Tasks from creation to end, without a socket, a thread or a file.
@Suite struct TaskMachineTests {
  private static let space = ProtectionSpace(
    host: "origin.test", port: 80, protocolName: "http", realm: "r", authenticationMethod: .httpBasic)

  private static func delegate(_ change: (inout SessionDelegate) -> Void = { _ in }) -> SessionDelegate {
    var delegate = SessionDelegate()
    change(&delegate)
    return delegate
  }

  @Test func `task ends once after a challenge and a redirect`() throws {
    var stage = SessionMachineHarness(delegate: Self.delegate { $0.taskChallenges = .ask })
    let id = stage.create()
    guard case .submit(let submitted)? = stage.takeOrders().first else {
      throw Missing("no task was submitted")
    }
    #expect(submitted.id == id && submitted.state == .running)
    let time = stage.now.wall
    stage.fact(.began(id, at: time))
    let challenge = AuthenticationChallenge(Self.space)
    stage.fact(.asked(id, 1, .challenge(challenge, .taskDidReceiveChallenge), at: time))
    #expect(stage.machine.task(id)?.task.phase == .waitingForDecision)
    let decision = try #require(stage.lastDecision)
    let answer = DecisionAnswer.challenge(.answer(.useCredential(.init(user: "u", password: "p"))))
    #expect(stage.give(.answer(id, decision, answer, shown: [1], tag: [2])).isDone)
    guard case .command(.answer(.challenge(.useCredential), question: 1), id)? = stage.takeOrders().first
    else {
      throw Missing("no answer was sent to the engine")
    }
    // A second answer is too late.
    #expect(stage.give(.answer(id, decision, answer, shown: [1], tag: [2])).refusal == .decisionSettled)
    let next = TransferRequest(url: "http://origin.test/b")
    stage.fact(.redirected(id, .ok, to: next, at: time))
    #expect(stage.machine.task(id)?.task.currentRequest.url == "http://origin.test/b")
    stage.fact(.response(id, .ok, BodyReference(nil), at: time))
    let known = try #require(stage.machine.task(id)).task
    stage.fact(.ended(id, .end(of: known, at: time)))
    #expect(
      stage.types(of: id)
        == [
          .taskDidCreate, .taskDidChangeState, .taskDidChangeState, .taskDidChangeState,
          .taskDidReceiveChallenge, .taskDidChangeState, .taskWillPerformHTTPRedirection,
          .dataTaskDidReceiveResponse, .taskDidFinishCollectingMetrics, .taskDidComplete,
        ])
    #expect(stage.ends == [id: 1] && stage.rows[id]?.state == .completed && stage.rows[id]?.body?.size == 3)
    #expect(stage.settlements.map(\.state) == [.answered])
    #expect(stage.machine.task(id) == nil && stage.machine.unfinished == 0)
  }

  /// Without this rule, a cancelled data task could still become a download: the client's cancellation and the engine's facts may cross.
  @Test func `task that is being cancelled requests no decision`() throws {
    var stage = SessionMachineHarness(delegate: Self.delegate { $0.asksForResponses = true })
    let id = stage.create()
    let time = stage.now.wall
    stage.fact(.began(id, at: time))
    stage.give(.cancel(id, keepsPartial: false))
    stage.fact(.asked(id, 1, .response(.ok, BodyReference(nil)), at: time))
    #expect(stage.lastDecision == nil && stage.types(of: id).contains(.dataTaskDidReceiveResponse) == false)
    let known = try #require(stage.machine.task(id)).task
    stage.fact(.ended(id, .end(of: known, at: time, error: .cancelled)))
    #expect(stage.ends == [id: 1])
  }

  @Test func `ending task is shown unfinished until its end is committed`() throws {
    var stage = SessionMachineHarness()
    let id = stage.create()
    let known = try #require(stage.machine.task(id)).task
    stage.give(.fact(.ended(id, .end(of: known, at: stage.now.wall))), holds: false)
    #expect(stage.machine.task(id)?.isEnding == true && stage.machine.task(id)?.task.state == .running)
    #expect(stage.give(.cancel(id, keepsPartial: false)).isOver)
    // A second end changes nothing.
    stage.fact(.ended(id, .end(of: known, at: stage.now.wall, error: .cancelled)))
    #expect(stage.ends == [id: 1])
    stage.give(.endsCommitted([id]))
    #expect(stage.machine.task(id) == nil)
  }

  private static let specification = TaskSpecification(
    kind: .data, request: TransferRequest(url: "http://a.test"))

  @Test func `commands wait for the commit of a new task`() {
    var stage = SessionMachineHarness()
    let id = TaskID(high: 1, low: 1)
    stage.give(.create([NewTask(id: id, Self.specification)]))
    #expect(stage.give(.resume(id)).isCreating && stage.machine.unfinished == 1)
    stage.give(.refused([id], messages: []))
    #expect(stage.give(.resume(id)).isOver && stage.machine.unfinished == 0)
  }

  @Test func `invalidateAndCancel cancels tasks in creation`() throws {
    var stage = SessionMachineHarness()
    let running = stage.create()
    var specification = Self.specification
    specification.resume = true
    let id = TaskID(high: 1, low: 1)
    stage.give(.create([NewTask(id: id, specification)]))
    stage.give(.invalidate)
    let late = NewTask(id: TaskID(high: 1, low: 2), specification)
    #expect(stage.give(.create([late])).refusal == .sessionInvalid)
    let ids = stage.machine.tasksToCancel()
    #expect(Set(ids) == [running, id])
    _ = stage.takeOrders()
    stage.give(.cancelTasks(ids))
    guard case .command(.cancel(keepsPartial: false), running)? = stage.takeOrders().first else {
      throw Missing("the running task was not cancelled")
    }
    stage.give(.created([id]))
    stage.give(.begin(id))
    #expect(stage.takeOrders().isEmpty && stage.machine.task(id) == nil)
    let known = try #require(stage.machine.task(running)?.task)
    #expect(known.state == .canceling)
    stage.fact(.ended(running, .end(of: known, at: stage.now.wall, error: .cancelled)))
    #expect(stage.retirement == .keepsStored && stage.machine.session.state == .invalid)
    #expect(stage.events.last?.type == .sessionDidBecomeInvalid)
    #expect(stage.events.count { $0.type == .sessionDidBecomeInvalid } == 1)
  }

  @Test func `delegate can replace the request at the begin date`() throws {
    var stage = SessionMachineHarness(delegate: Self.delegate { $0.asksForDelayedRequests = true })
    let date = stage.now.wall.adding(seconds: 60)
    let id = stage.create { $0.earliestBeginDate = date }
    #expect(stage.takeOrders().isEmpty && stage.alarms == [.begin(id, at: date)])
    stage.give(.begin(id))  // too early, so the task keeps waiting
    #expect(stage.inquiries.isEmpty)
    stage.now.wall = date
    stage.give(.begin(id))
    #expect(stage.machine.task(id)?.task.phase == .waitingForDecision && stage.takeOrders().isEmpty)
    // The answer does not start a suspended task.
    stage.give(.suspend(id))
    let decision = try #require(stage.lastDecision)
    let other = TransferRequest(url: "http://origin.test/other")
    stage.give(.answer(id, decision, .delayed(.useNewRequest, other), shown: [], tag: nil))
    #expect(stage.takeOrders().isEmpty)
    #expect(stage.rows[id]?.currentRequest.url == other.url, "the answer is stored at once")
    stage.give(.resume(id))
    guard case .submit(let task)? = stage.takeOrders().first else { throw Missing("no task was submitted") }
    #expect(task.currentRequest.url == other.url && stage.inquiries.count == 1)
  }

  @Test func `expired decision applies the default`() throws {
    var stage = SessionMachineHarness(delegate: Self.delegate { $0.asksForRedirects = true })
    let id = stage.create()
    _ = stage.takeOrders()
    let next = TransferRequest(url: "http://origin.test/b")
    stage.fact(.began(id, at: stage.now.wall))
    stage.fact(.asked(id, 4, .redirect(.ok, proposed: next), at: stage.now.wall))
    let decision = try #require(stage.lastDecision)
    stage.give(.decisionExpired(id, DecisionID(high: 9, low: 9)))  // another task's
    #expect(stage.settlements.isEmpty)
    stage.give(.decisionExpired(id, decision))
    guard case .command(.answer(.byDefault, question: 4), id)? = stage.takeOrders().first else {
      throw Missing("the default answer was not sent")
    }
    #expect(stage.settlements.map(\.state) == [.expired])
  }

  @Test func `data task becomes a download`() throws {
    var stage = SessionMachineHarness(delegate: Self.delegate { $0.asksForResponses = true })
    let id = stage.create()
    _ = stage.takeOrders()
    stage.fact(.began(id, at: stage.now.wall))
    stage.fact(.asked(id, 1, .response(.ok, BodyReference(nil)), at: stage.now.wall))
    let decision = try #require(stage.lastDecision)
    stage.give(.answer(id, decision, .response(.becomeDownload), shown: [], tag: nil))
    guard case .command(.answer(.becomeDownload(let download), question: 1), id)? = stage.takeOrders().first
    else {
      throw Missing("the task did not become a download")
    }
    #expect(stage.machine.task(id) == nil && stage.rows[id]?.downloadTask == download)
    let known = try #require(stage.machine.task(download)).task
    #expect(known.kind == .download && known.taskIdentifier == 2 && known.response == .ok)
    #expect(stage.rows[download]?.startedAt == known.startedAt && known.startedAt != nil)
    #expect(stage.machine.unfinished == 1 && stage.types(of: id).last == .dataTaskDidBecomeDownloadTask)
    // The engine ends the task under its old id, because it has not received the answer yet.
    stage.fact(.ended(id, .end(of: known, at: stage.now.wall)))
    #expect(stage.types(of: download).last == .taskDidComplete && stage.machine.unfinished == 0)
  }

  private final class Body: BodyToken { func cancel() {} }

  /// Found by the simulator: a client that was ready to send a body waited for ever, because the task continued without a body.
  @Test(arguments: [true, false]) func `useless offered body is dropped`(_ becomesDownload: Bool) throws {
    var stage = SessionMachineHarness(
      delegate: Self.delegate { ($0.asksForDelayedRequests, $0.asksForResponses) = (true, true) })
    let date = stage.now.wall.adding(seconds: 60)
    let id = stage.create(.upload, method: "POST") {
      $0.request.body = .stream
      $0.earliestBeginDate = date
    }
    let body = Body()
    stage.give(.offer(id, body, length: nil))
    stage.now.wall = date
    stage.give(.begin(id))
    let request = TransferRequest(url: "http://origin.test/b", method: "POST")
    let answer: DecisionAnswer =
      becomesDownload ? .delayed(.continueLoading, nil) : .delayed(.useNewRequest, request)
    stage.give(.answer(id, try #require(stage.lastDecision), answer, shown: [], tag: nil))
    if becomesDownload {
      #expect(stage.droppedUploads.isEmpty)
      stage.fact(.asked(id, 1, .response(.ok, BodyReference(nil)), at: stage.now.wall))
      let decision = try #require(stage.lastDecision)
      stage.give(.answer(id, decision, .response(.becomeDownload), shown: [], tag: nil))
    }
    #expect(stage.droppedUploads.map { ObjectIdentifier($0) } == [ObjectIdentifier(body)])
  }

  @Test func `recovered task ends or continues`() throws {
    var old = SessionMachineHarness()
    let date = old.now.wall.adding(seconds: 3600)
    let (running, waiting) = (old.create(.download), old.create { $0.earliestBeginDate = date })
    let suspended = old.create(isRunning: false)
    var new = SessionMachineHarness(after: old)
    for id in [running, waiting, suspended] {
      new.give(.recovered(try #require(old.machine.task(id)).task))
    }
    new.give(.recoveredAll)
    #expect(new.rows[running]?.error?.name == "networkConnectionLost" && new.ends == [running: 1])
    #expect(new.alarms == [.begin(waiting, at: date)] && new.machine.unfinished == 2)
    new.give(.resume(suspended))
    guard case .submit(let task)? = new.takeOrders().first else { throw Missing("no task was submitted") }
    #expect(task.id == suspended)
  }

  /// A recovery that fails midway is repeated, and must find the rows unchanged.
  @Test func `recovered task neither starts nor ends before the recovery is complete`() throws {
    var old = SessionMachineHarness()
    let (left, running, cancelled) = (old.create(.download), old.create(.download), old.create(.download))
    old.give(.cancel(cancelled, keepsPartial: false))
    old.give(.prepareHandover)
    var new = SessionMachineHarness(after: old)
    let rows = new.rows
    for id in [left, running, cancelled] {
      var task = try #require(old.machine.task(id)).task
      if id == left { task.executionState = .idle(goesOn: true) }
      new.give(.recovered(task))
    }
    #expect(new.rows == rows && new.takeOrders().isEmpty && new.ends.isEmpty && new.alarms.isEmpty)
    new.give(.recoveredAll)
    #expect(new.ends == [running: 1, cancelled: 1] && new.takeOrders().count == 1)
  }

  /// Found by the simulator: the next service waited for the date of a task that had begun, and announced its start again.
  @Test func `begin date set after the start is ignored`() throws {
    var stage = SessionMachineHarness()
    let (begun, queued) = (stage.create(), stage.create())
    var patch = TaskPatch()
    patch.earliestBeginDate = stage.now.wall.adding(seconds: 3600)
    stage.fact(.began(begun, at: stage.now.wall))
    for id in [begun, queued] { stage.give(.change(id, patch)) }
    stage.fact(.began(queued, at: stage.now.wall))
    var new = SessionMachineHarness(after: stage)
    for id in [begun, queued] { new.give(.recovered(try #require(stage.rows[id]))) }
    new.give(.recoveredAll)
    #expect(new.alarms == [.cancelBegin(begun), .cancelBegin(queued)])
    #expect(new.ends == [begun: 1, queued: 1])
  }

  /// Found by the simulator: a request that may have been sent is sent once more, and earlier events are not repeated.
  @Test func `task begun under an earlier service is sent once more`() throws {
    var old = SessionMachineHarness()
    let date = old.now.wall.adding(seconds: 60)
    let id = old.create(.upload, method: "POST") { $0.earliestBeginDate = date }
    old.now.wall = date
    old.give(.begin(id))
    old.fact(.began(id, at: old.now.wall))
    old.fact(.waitsForConnectivity(id, at: old.now.wall))
    old.give(.suspend(id))
    var new = SessionMachineHarness(after: old)
    new.give(.recovered(try #require(old.rows[id])))
    new.give(.recoveredAll)
    new.give(.resume(id))
    guard case .submit(let task)? = new.takeOrders().first else { throw Missing("no task was submitted") }
    #expect(task.retryCount == 1 && new.rows[id]?.retryCount == 1)
    new.fact(.began(id, at: new.now.wall))
    new.fact(.waitsForConnectivity(id, at: new.now.wall))
    #expect(new.types(of: id).count { $0 == .taskWillBeginDelayedRequest } == 1)
    #expect(new.types(of: id).count { $0 == .taskIsWaitingForConnectivity } == 1)
  }

  /// Found by the simulator: the clock was set back, and the next service waited for the date again and sent the request twice unnoticed.
  @Test func `begin date that has come is not awaited again if the clock is set back`() throws {
    var old = SessionMachineHarness()
    let date = old.now.wall.adding(seconds: 60)
    let id = old.create(.upload, method: "POST") { $0.earliestBeginDate = date }
    old.now.wall = date
    old.give(.begin(id))
    // The engine has reported nothing yet.
    var new = SessionMachineHarness(after: old)
    new.now.wall = date.adding(seconds: -30)
    new.give(.recovered(try #require(old.rows[id])))
    new.give(.recoveredAll)
    #expect(new.ends == [id: 1] && new.takeOrders().isEmpty)
    #expect(new.rows[id]?.error?.name == "networkConnectionLost")
  }

  /// Found by the simulator: the next service waited for the date again, and reported the phase `waitingForDecision` twice.
  @Test func `open decision about the start ends the task if the clock is set back`() throws {
    var old = SessionMachineHarness(delegate: Self.delegate { $0.asksForDelayedRequests = true })
    let date = old.now.wall.adding(seconds: 60)
    let id = old.create { $0.earliestBeginDate = date }
    old.now.wall = date
    old.give(.begin(id))
    #expect(old.inquiries.count == 1)
    var new = SessionMachineHarness(after: old)
    new.now.wall = date.adding(seconds: -30)
    new.give(.recovered(try #require(old.rows[id])))
    new.give(.recoveredAll)
    #expect(new.ends == [id: 1] && new.rows[id]?.error?.name == "networkConnectionLost")
  }

  /// A task was suspended before its engine reported the start, so its request may have been sent.
  @Test func `suspended task that may have begun is sent once more`() throws {
    var old = SessionMachineHarness()
    let id = old.create(.upload, method: "POST")
    old.give(.suspend(id))
    var new = SessionMachineHarness(after: old)
    new.give(.recovered(try #require(old.rows[id])))
    new.give(.recoveredAll)
    new.give(.resume(id))
    guard case .submit(let task)? = new.takeOrders().first else { throw Missing("no task was submitted") }
    #expect(task.retryCount == 1 && new.rows[id]?.retryCount == 1)
  }

  /// The row of a suspended task records its events, and the next service continues from that row.
  @Test func `events of a suspended task are not repeated`() throws {
    var old = SessionMachineHarness()
    let id = old.create()
    old.give(.suspend(id))
    old.fact(.waitsForConnectivity(id, at: old.now.wall))
    #expect(old.types(of: id).contains(.taskIsWaitingForConnectivity))
    var new = SessionMachineHarness(after: old)
    new.give(.recovered(try #require(old.rows[id])))
    new.give(.recoveredAll)
    new.give(.resume(id))
    new.fact(.waitsForConnectivity(id, at: new.now.wall))
    #expect(new.types(of: id).count { $0 == .taskIsWaitingForConnectivity } == 1)
  }
}

struct Missing: Error {
  let what: String
  init(_ what: String) { self.what = what }
}

extension InputResult {
  var isDone: Bool { if case .done = self { true } else { false } }
  var isOver: Bool { if case .ended = self { true } else { false } }
  var isCreating: Bool { if case .creating = self { true } else { false } }
  var refusal: InputRefusal? { if case .refused(let refusal) = self { refusal } else { nil } }
}

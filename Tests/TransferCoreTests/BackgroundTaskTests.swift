import Testing
import TransferModel

@testable import TransferCore

/// Background tasks from creation to end, with the session's machine and the worker's.
@Suite struct BackgroundTaskTests {
  /// A session's machine and a worker's machine, with a ledger between them that loses nothing.
  private struct MachinePairHarness {
    var stage: SessionMachineHarness
    var worker = WorkerMachine(discretion: DiscretionaryPolicy())
    var state: [TaskID: WorkState] = [:]
    var orders: [WorkerEffects.EngineCommand] = []
    var alarms: [WorkerEffects.TimerChange] = []
    private var random = RandomSource(seed: 3)

    init(delegate: SessionDelegate? = nil) {
      stage = SessionMachineHarness(.background, delegate: delegate)
      begin()
    }

    private mutating func begin() {
      give(.session(stage.machine.session))
      give(.started)
    }

    /// - Parameter holds: whether the commit succeeds at once.
    mutating func give(_ input: WorkerInput, holds: Bool = true) {
      var effects = WorkerEffects(random: random)
      worker.handle(input, at: stage.now, into: &effects)
      random = effects.random
      for row in effects.work { state[row.task] = row.state }
      for task in effects.finished { state[task] = nil }
      orders += effects.engineCommands
      alarms += effects.timers
      for fact in effects.facts { stage.give(.fact(fact)) }
      if holds { for (task, attempt) in effects.written { give(.attemptCommitted(task, attempt: attempt)) } }
    }

    /// Passes the commands of the service to the worker.
    mutating func deliver() {
      for order in stage.takeOrders() {
        switch order {
        case .submit(let task): give(.submit(task, in: nil))
        case .command(let command, let id): give(.command(command, id))
        case .releaseSession: give(.releaseSession(stage.machine.session.id))
        }
      }
    }

    mutating func fact(_ fact: TransferFact) { give(.fact(fact)) }

    mutating func takeOrders() -> [WorkerEffects.EngineCommand] {
      defer { orders = [] }
      return orders
    }

    /// Replaces the worker by a new one, which recovers its tasks.
    mutating func restartWorker(hasCrashed: Bool) {
      worker = WorkerMachine(discretion: DiscretionaryPolicy())
      orders = []
      alarms = []
      if hasCrashed { give(.wasCrash) }
      give(.session(stage.machine.session))
      for (id, state) in state.sorted(by: { $0.key < $1.key }) {
        guard let task = stage.rows[id] ?? stage.machine.task(id)?.task else { continue }
        give(.recovered(task, in: stage.machine.session, state, hasCrashed: hasCrashed))
      }
      give(.started)
    }
  }

  private static let challenge = AuthenticationChallenge(
    ProtectionSpace(
      host: "origin.test", port: 80, protocolName: "http", realm: "r", authenticationMethod: .httpBasic))

  @Test func `download survives a challenge, a redirect, a retry and a crash`() throws {
    var delegate = SessionDelegate()
    delegate.taskChallenges = .ask
    var house = MachinePairHarness(delegate: delegate)
    let id = house.stage.create(.download)
    house.deliver()
    #expect(house.takeOrders().submissions == [0: id])
    house.fact(.began(id, at: house.stage.now.wall))
    house.fact(.asked(id, 1, .challenge(Self.challenge, .taskDidReceiveChallenge), at: house.stage.now.wall))
    let decision = try #require(house.stage.lastDecision)
    house.stage.give(
      .answer(
        id, decision, .challenge(.answer(.useCredential(.init(user: "u", password: "p")))), shown: [],
        tag: nil))
    house.deliver()
    #expect(house.takeOrders().answers == [1])
    let next = TransferRequest(url: "http://origin.test/b")
    house.fact(.redirected(id, .ok, to: next, at: house.stage.now.wall))
    #expect(house.stage.machine.task(id)?.task.currentRequest.url == next.url)
    // The connection breaks, so another attempt follows later.
    let task = try #require(house.stage.machine.task(id)).task
    let point = ResumePoint(
      partial: PartialBody(offset: 5, total: 9, validator: "\"v\""), source: id)
    var broken = TransferOutcome.end(of: task, at: house.stage.now.wall, error: .networkConnectionLost)
    broken.partial = point
    house.fact(.ended(id, broken))
    #expect(house.stage.machine.task(id)?.task.phase == .waitingToRetry)
    let wait = try #require(house.stage.machine.task(id)?.task.shownRetryWait)
    #expect(wait.lastError.name == "networkConnectionLost" && wait.nextAttemptAt == house.state[id]?.retryAt)
    guard case .retry(id, let time)? = house.alarms.last else { throw Missing("no retry was scheduled") }
    house.give(.retryDue(id))
    #expect(house.takeOrders().submissions.isEmpty)
    house.stage.now.uptime = time
    house.give(.retryDue(id))
    guard case .submit(let second)? = house.takeOrders().first else {
      throw Missing("no second attempt was submitted")
    }
    #expect(second.resumePoint == point && second.questions == 1)
    house.fact(.began(id, at: house.stage.now.wall))
    // The same challenge gets the same answer without a new decision.
    house.fact(.asked(id, 2, .challenge(Self.challenge, .taskDidReceiveChallenge), at: house.stage.now.wall))
    #expect(house.takeOrders().answers == [2] && house.stage.inquiries.count == 1)
    house.fact(.resumed(id, offset: 5, expectedTotal: 9, at: house.stage.now.wall))
    #expect(house.stage.events.last?.type == .downloadTaskDidResumeAtOffset)
    house.fact(.keptPartial(id, point))
    // The worker crashes, and its successor continues from the partial file.
    house.restartWorker(hasCrashed: true)
    guard case .submit(let third)? = house.takeOrders().first else { throw Missing("no task was submitted") }
    #expect(third.resumePoint == point && third.questions == 2)
    #expect(house.stage.machine.task(id)?.task.phase == .queued)
    house.fact(.began(id, at: house.stage.now.wall))
    // An answer to a decision of the crashed worker has no effect.
    house.give(.command(.answer(.challenge(.useNoCredential), question: 1), id))
    #expect(house.takeOrders().isEmpty)
    house.fact(.ended(id, .end(of: task, at: house.stage.now.wall)))
    #expect(house.stage.ends == [id: 1] && house.state.isEmpty && house.worker.attempts.isEmpty)
    #expect(house.stage.types(of: id).last == .taskDidComplete)
    #expect(house.stage.events.last?.type == .sessionDidFinishEvents)
  }

  @Test func `POST is sent after its commit, and a repeat counts as a retry`() throws {
    var house = MachinePairHarness()
    let id = house.stage.create(.data, method: "POST")
    guard case .submit(let task)? = house.stage.takeOrders().first else {
      throw Missing("no task was submitted")
    }
    house.give(.submit(task, in: nil), holds: false)
    #expect(house.takeOrders().isEmpty, "nothing is sent before the commit")
    #expect(house.state[id]?.isActive == true)
    house.give(.attemptCommitted(id, attempt: 1))
    #expect(house.takeOrders().submissions == [0: id])
    // The worker crashes. The origin may have acted on the request, so the attempt counts as failed.
    house.restartWorker(hasCrashed: true)
    #expect(house.stage.machine.task(id)?.task.retryCount == 1)
    // No time is left for another attempt: the task ends, and no request is sent.
    var state = try #require(house.state[id])
    state.isActive = true
    state.startedAt = Timestamp(seconds: 1)
    house.state[id] = state
    house.restartWorker(hasCrashed: true)
    #expect(house.takeOrders().submissions.isEmpty)
    #expect(house.stage.rows[id]?.error?.name == "networkConnectionLost" && house.stage.ends == [id: 1])
  }

  /// The response of a busy origin is held back until its attempt ends. It must not be reported after the response to a later attempt.
  @Test func `new attempt drops the response held from an earlier one`() throws {
    var house = MachinePairHarness()
    let id = house.stage.create(.data)
    house.deliver()
    var busy = TransferResponse.ok
    busy.status = 503
    house.fact(.response(id, busy, BodyReference(nil), at: house.stage.now.wall))
    var attempt = try #require(house.worker.attempts[id])
    #expect(attempt.heldResponse != nil)
    attempt.begin()
    #expect(attempt.heldResponse == nil)
  }

  @Test func `task fails after too many worker crashes`() throws {
    var house = MachinePairHarness()
    let id = house.stage.create(.download)
    house.deliver()
    var deaths = 0
    while house.stage.ends.isEmpty, deaths < 10 {
      deaths += 1
      house.restartWorker(hasCrashed: true)
    }
    #expect(deaths == CrashGuard.limit)
    #expect(house.stage.rows[id]?.error?.name == "attemptLimitReached")
  }

  @Test func `restarted service submits only tasks that the worker lacks`() throws {
    var house = MachinePairHarness()
    let (elsewhere, lost) = (house.stage.create(.download), house.stage.create(.download))
    let orders = house.stage.takeOrders()
    // The second command was never written.
    if case .submit(let task)? = orders.first { house.give(.submit(task, in: nil)) }
    let old = house.stage
    house.stage = SessionMachineHarness(after: old)
    for id in [elsewhere, lost] { house.stage.give(.recovered(try #require(old.machine.task(id)).task)) }
    let state = try #require(house.state[elsewhere])
    house.stage.give(.isAtWorker(elsewhere, ReceivedCommands(state)))
    house.stage.give(.workerTasksKnown(except: []))
    house.stage.give(.recoveredAll)
    guard case .submit(let task)? = house.stage.takeOrders().first else {
      throw Missing("the lost task was not resubmitted")
    }
    #expect(task.id == lost)
    house.give(.submit(task, in: nil))
    #expect(house.worker.attempts.count == 2)
  }

  @Test func `client without a stream gets one wake up and didFinishEvents`() throws {
    var delegate = SessionDelegate()
    delegate.webhook = Webhook(url: "http://client.test", secret: nil)
    delegate.events = []
    var house = MachinePairHarness(delegate: delegate)
    let (first, second) = (house.stage.create(.download), house.stage.create(.download))
    house.deliver()
    for id in [first, second] {
      let task = try #require(house.stage.machine.task(id)).task
      house.fact(.ended(id, .end(of: task, at: house.stage.now.wall)))
    }
    #expect(house.stage.messages.count == 1)
    let message = try #require(house.stage.messages.first)
    #expect(!house.stage.events.contains { $0.type == .sessionDidFinishEvents })
    house.stage.give(.attempts(message.id))
    house.stage.give(.settled([message.id]))
    #expect(house.stage.events.last?.type == .sessionDidFinishEvents)
  }

  /// Other tasks may need the connections of a running discretionary task, so the task gives its connection up.
  @Test func `running discretionary task gives its connection to another task`() throws {
    var house = MachinePairHarness()
    let shy = house.stage.create(.download) { $0.isDiscretionary = true }
    house.deliver()
    house.fact(.began(shy, at: house.stage.now.wall))
    let task = try #require(house.stage.machine.task(shy)).task
    let point = ResumePoint(partial: PartialBody(offset: 5, total: 9, validator: "\"v\""), source: shy)
    house.fact(.keptPartial(shy, point))
    _ = house.takeOrders()
    let other = house.stage.create(.download)
    house.deliver()
    let orders = house.takeOrders()
    guard case .command(.cancel(keepsPartial: true), shy, _)? = orders.first else {
      throw Missing("the yielding task was not cancelled")
    }
    #expect(orders.submissions == [0: other])
    var stopped = TransferOutcome.end(of: task, at: house.stage.now.wall, error: .cancelled)
    stopped.partial = point
    house.fact(.ended(shy, stopped))
    #expect(house.takeOrders().isEmpty)
    #expect(house.stage.machine.task(shy)?.task.phase == .queued)
    // The interruption does not count as an attempt (RetryConfiguration.maximumAttempts).
    #expect(house.state[shy]?.retries == 0 && house.state[shy]?.attempts == 0)
    house.fact(
      .ended(other, .end(of: try #require(house.stage.machine.task(other)).task, at: house.stage.now.wall)))
    guard case .submit(let next)? = house.takeOrders().first else { throw Missing("no task was submitted") }
    #expect(next.task.id == shy && next.resumePoint == point)
  }

  /// The other task ends before the engine has stopped the discretionary one. Another attempt must follow all the same.
  @Test func `attempt that stopped too late is followed by another`() throws {
    var house = MachinePairHarness()
    let shy = house.stage.create(.download) { $0.isDiscretionary = true }
    house.deliver()
    house.fact(.began(shy, at: house.stage.now.wall))
    let task = try #require(house.stage.machine.task(shy)).task
    house.fact(
      .keptPartial(shy, ResumePoint(partial: PartialBody(offset: 5, total: 9, validator: "v"), source: shy)))
    let other = house.stage.create(.download)
    house.deliver()
    house.fact(
      .ended(other, .end(of: try #require(house.stage.machine.task(other)).task, at: house.stage.now.wall)))
    _ = house.takeOrders()
    // The start of the attempt is reported late.
    house.fact(.began(shy, at: house.stage.now.wall))
    house.fact(.ended(shy, .end(of: task, at: house.stage.now.wall, error: .cancelled)))
    guard case .submit(let next)? = house.takeOrders().first else { throw Missing("no task was submitted") }
    // No bytes are left of the first attempt, so the second one needs another file: the first may still write or delete its own.
    #expect(next.task.id == shy && next.number == 2)
  }

  /// An attempt that cannot be resumed later runs to its end, because stopping it would repeat its work.
  @Test(arguments: ["GET", "POST"]) func `unresumable attempt is not stopped`(_ method: String) throws {
    var house = MachinePairHarness()
    let shy = house.stage.create(.download) {
      $0.isDiscretionary = true
      $0.request.method = method
    }
    house.deliver()
    house.fact(.began(shy, at: house.stage.now.wall))
    _ = house.takeOrders()
    let other = house.stage.create(.download)
    house.deliver()
    let orders = house.takeOrders()
    #expect(orders.count == 1 && orders.submissions == [0: other])
  }

  /// The request is sent before the engine receives the command to wait in its queue.
  @Test func `request sent during its suspension is resumed`() throws {
    var house = MachinePairHarness()
    let shy = house.stage.create(.download) { $0.isDiscretionary = true }
    house.deliver()
    _ = house.takeOrders()
    let other = house.stage.create(.download)
    house.deliver()
    guard case .command(.suspend, shy, _)? = house.takeOrders().first else {
      throw Missing("the yielding task was not suspended")
    }
    house.fact(.began(shy, at: house.stage.now.wall))
    guard case .command(.resume, shy, _)? = house.takeOrders().first else {
      throw Missing("the started task was not resumed")
    }
    house.fact(
      .ended(other, .end(of: try #require(house.stage.machine.task(other)).task, at: house.stage.now.wall)))
    #expect(house.takeOrders().isEmpty)
  }

  @Test func `discretionary task waits until other tasks have ended`() throws {
    var house = MachinePairHarness()
    house.stage.now.hasListeners = true
    let shy = house.stage.create(.download) { $0.isDiscretionary = true }
    house.deliver()
    #expect(house.takeOrders().submissions == [0: shy])
    let bold = house.stage.create(.download)
    house.deliver()
    let orders = house.takeOrders()
    guard case .command(.suspend, shy, _)? = orders.first else {
      throw Missing("the yielding task was not suspended for the new one")
    }
    #expect(orders.submissions == [0: bold])
    let task = try #require(house.stage.machine.task(bold)).task
    house.fact(.ended(bold, .end(of: task, at: house.stage.now.wall)))
    guard case .command(.resume, shy, _)? = house.takeOrders().last else {
      throw Missing("the yielding task was not resumed")
    }
  }
}

extension Array where Element == WorkerEffects.EngineCommand {
  /// The submitted tasks, by the number of decisions requested for them so far.
  fileprivate var submissions: [Int: TaskID] {
    var found: [Int: TaskID] = [:]
    for case .submit(let submission) in self { found[submission.questions] = submission.task.id }
    return found
  }
  /// The numbers of the answered decisions.
  fileprivate var answers: [Int] {
    compactMap { if case .command(.answer(_, let number), _, _) = $0 { number } else { nil } }
  }
}

import Testing
import TransferModel

@testable import TransferCore

/// The lives of background tasks, with both of their machines: what clients are told, and what is being tried.
@Suite struct BackgroundLifeTests {
  /// A session's machine and a worker's, with a store between them that loses nothing.
  private struct House {
    var stage: Stage
    var worker = WorkerMachine(discretion: DiscretionaryPolicy())
    var state: [TaskID: WorkState] = [:]
    var orders: [WorkerTurn.Order] = []
    var alarms: [WorkerTurn.Alarm] = []
    private var random = RandomSource(seed: 3)

    init(delegate: SessionDelegate? = nil) {
      stage = Stage(.background, delegate: delegate)
      begin()
    }

    private mutating func begin() {
      give(.session(stage.machine.session))
      give(.started)
    }

    /// - Parameter holds: whether the commit is there.
    mutating func give(_ input: WorkerInput, holds: Bool = true) {
      var turn = WorkerTurn(random: random)
      worker.handle(input, at: stage.now, into: &turn)
      random = turn.random
      for row in turn.work { state[row.task] = row.state }
      for task in turn.finished { state[task] = nil }
      orders += turn.orders
      alarms += turn.alarms
      for fact in turn.facts { stage.give(.fact(fact)) }
      if holds { for (task, attempt) in turn.written { give(.written(task, attempt: attempt)) } }
    }

    /// Carries what the service has ordered to the worker.
    mutating func deliver() {
      for order in stage.takeOrders() {
        switch order {
        case .submit(let task): give(.submit(task, in: nil))
        case .command(let command, let id): give(.command(command, id))
        case .forgetSession: give(.forget(stage.machine.session.id))
        }
      }
    }

    mutating func fact(_ fact: TransferFact) { give(.fact(fact)) }

    mutating func takeOrders() -> [WorkerTurn.Order] {
      defer { orders = [] }
      return orders
    }

    /// The worker dies, and another takes over.
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

  @Test func aDownloadIsChallengedRedirectedRetriedTakenOverAndEnds() throws {
    var delegate = SessionDelegate()
    delegate.taskChallenges = .ask
    var house = House(delegate: delegate)
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
    // The connection breaks: another attempt, later.
    let task = try #require(house.stage.machine.task(id)).task
    let point = ResumePoint(
      partial: PartialBody(offset: 5, total: 9, validator: "\"v\""), source: id)
    var broken = TransferOutcome.end(of: task, at: house.stage.now.wall, error: .networkConnectionLost)
    broken.partial = point
    house.fact(.ended(id, broken))
    #expect(house.stage.machine.task(id)?.task.phase == .waitingToRetry)
    let wait = try #require(house.stage.machine.task(id)?.task.shownRetryWait)
    #expect(wait.lastError.name == "networkConnectionLost" && wait.nextAttemptAt == house.state[id]?.retryAt)
    guard case .retry(id, let time)? = house.alarms.last else { throw Missing("no other attempt") }
    house.give(.due(id))
    #expect(house.takeOrders().submissions.isEmpty)
    house.stage.now.uptime = time
    house.give(.due(id))
    guard case .submit(let second)? = house.takeOrders().first else { throw Missing("no second attempt") }
    #expect(second.resumePoint == point && second.questions == 1)
    house.fact(.began(id, at: house.stage.now.wall))
    // The same question is answered as before, and nobody is asked.
    house.fact(.asked(id, 2, .challenge(Self.challenge, .taskDidReceiveChallenge), at: house.stage.now.wall))
    #expect(house.takeOrders().answers == [2] && house.stage.inquiries.count == 1)
    house.fact(.resumed(id, offset: 5, expectedTotal: 9, at: house.stage.now.wall))
    #expect(house.stage.events.last?.type == .downloadTaskDidResumeAtOffset)
    house.fact(.keeps(id, point))
    // The worker dies; its successor goes on from there.
    house.restartWorker(hasCrashed: true)
    guard case .submit(let third)? = house.takeOrders().first else { throw Missing("nobody goes on") }
    #expect(third.resumePoint == point && third.questions == 2)
    #expect(house.stage.machine.task(id)?.task.phase == .queued)
    house.fact(.began(id, at: house.stage.now.wall))
    // An answer of the service's to a question of the dead one is for nobody.
    house.give(.command(.answer(.challenge(.useNoCredential), question: 1), id))
    #expect(house.takeOrders().isEmpty)
    house.fact(.ended(id, .end(of: task, at: house.stage.now.wall)))
    #expect(house.stage.ends == [id: 1] && house.state.isEmpty && house.worker.attempts.isEmpty)
    #expect(house.stage.types(of: id).last == .taskDidComplete)
    #expect(house.stage.events.last?.type == .sessionDidFinishEvents)
  }

  @Test func aPostIsWrittenBeforeItIsSentAndNotSentTwiceUnseen() throws {
    var house = House()
    let id = house.stage.create(.data, method: "POST")
    guard case .submit(let task)? = house.stage.takeOrders().first else { throw Missing("no submission") }
    house.give(.submit(task, in: nil), holds: false)
    #expect(house.takeOrders().isEmpty, "it is sent before the store knows")
    #expect(house.state[id]?.isActive == true)
    house.give(.written(id, attempt: 1))
    #expect(house.takeOrders().submissions == [0: id])
    // Its process dies: whether the origin has acted is not known, and the attempt counts as one that has failed.
    house.restartWorker(hasCrashed: true)
    #expect(house.stage.machine.task(id)?.task.retryCount == 1)
    // No attempt is left: the task ends, and nothing is sent.
    var state = try #require(house.state[id])
    state.isActive = true
    state.startedAt = Timestamp(seconds: 1)
    house.state[id] = state
    house.restartWorker(hasCrashed: true)
    #expect(house.takeOrders().submissions.isEmpty)
    #expect(house.stage.rows[id]?.error?.name == "networkConnectionLost" && house.stage.ends == [id: 1])
  }

  /// A busy origin's response is held back until its attempt ends. It must not be reported after the response to a later attempt.
  @Test func newAttemptDropsTheResponseHeldFromAnEarlierOne() throws {
    var house = House()
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

  @Test func aTaskUnderWhichWorkersDieFails() throws {
    var house = House()
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

  @Test func theServiceComesBackAndFindsWhatItsWorkerHas() throws {
    var house = House()
    let (elsewhere, lost) = (house.stage.create(.download), house.stage.create(.download))
    let orders = house.stage.takeOrders()
    // The second order was never written.
    if case .submit(let task)? = orders.first { house.give(.submit(task, in: nil)) }
    let old = house.stage
    house.stage = Stage(after: old)
    for id in [elsewhere, lost] { house.stage.give(.recovered(try #require(old.machine.task(id)).task)) }
    let state = try #require(house.state[elsewhere])
    house.stage.give(.isElsewhere(elsewhere, Elsewhere(state)))
    house.stage.give(.allElsewhereKnown(except: []))
    house.stage.give(.recoveredAll)
    guard case .submit(let task)? = house.stage.takeOrders().first else { throw Missing("it is forgotten") }
    #expect(task.id == lost)
    house.give(.submit(task, in: nil))
    #expect(house.worker.attempts.count == 2)
  }

  @Test func aClientThatDoesNotListenIsWokenOnceAndHearsThatAllIsTold() throws {
    var delegate = SessionDelegate()
    delegate.webhook = Webhook(url: "http://client.test", secret: nil)
    delegate.events = []
    var house = House(delegate: delegate)
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

  /// What discretionary tasks yield to may wait for just their connections: one that is under way gives its own back.
  @Test func aDiscretionaryTaskThatIsUnderWayGivesItsConnectionBack() throws {
    var house = House()
    let shy = house.stage.create(.download) { $0.isDiscretionary = true }
    house.deliver()
    house.fact(.began(shy, at: house.stage.now.wall))
    let task = try #require(house.stage.machine.task(shy)).task
    let point = ResumePoint(partial: PartialBody(offset: 5, total: 9, validator: "\"v\""), source: shy)
    house.fact(.keeps(shy, point))
    _ = house.takeOrders()
    let other = house.stage.create(.download)
    house.deliver()
    let orders = house.takeOrders()
    guard case .command(.cancel(keepsPartial: true), shy, _)? = orders.first else {
      throw Missing("it goes on")
    }
    #expect(orders.submissions == [0: other])
    var stopped = TransferOutcome.end(of: task, at: house.stage.now.wall, error: .cancelled)
    stopped.partial = point
    house.fact(.ended(shy, stopped))
    #expect(house.takeOrders().isEmpty)
    #expect(house.stage.machine.task(shy)?.task.phase == .queued)
    // That it gave way to others is no attempt of its own (RetryConfiguration.maximumAttempts).
    #expect(house.state[shy]?.retries == 0 && house.state[shy]?.attempts == 0)
    house.fact(
      .ended(other, .end(of: try #require(house.stage.machine.task(other)).task, at: house.stage.now.wall)))
    guard case .submit(let next)? = house.takeOrders().first else { throw Missing("nobody goes on") }
    #expect(next.task.id == shy && next.resumePoint == point)
  }

  /// The others have ended before the engine has given it up: its next attempt follows all the same.
  @Test func anAttemptThatStopsForNobodyIsFollowedByAnother() throws {
    var house = House()
    let shy = house.stage.create(.download) { $0.isDiscretionary = true }
    house.deliver()
    house.fact(.began(shy, at: house.stage.now.wall))
    let task = try #require(house.stage.machine.task(shy)).task
    house.fact(
      .keeps(shy, ResumePoint(partial: PartialBody(offset: 5, total: 9, validator: "v"), source: shy)))
    let other = house.stage.create(.download)
    house.deliver()
    house.fact(
      .ended(other, .end(of: try #require(house.stage.machine.task(other)).task, at: house.stage.now.wall)))
    _ = house.takeOrders()
    // Its request is told late.
    house.fact(.began(shy, at: house.stage.now.wall))
    house.fact(.ended(shy, .end(of: task, at: house.stage.now.wall, error: .cancelled)))
    guard case .submit(let next)? = house.takeOrders().first else { throw Missing("nobody goes on") }
    // Nothing is left of the one before: what it may still write, or delete, is not the file of this one.
    #expect(next.task.id == shy && next.number == 2)
  }

  /// What could not be gone on with is not done twice, and keeps nobody waiting for ever: it goes on to its end.
  @Test(arguments: ["GET", "POST"]) func whatCannotBeKeptGoesOn(_ method: String) throws {
    var house = House()
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

  /// It was told to wait in the queue when it had a connection already.
  @Test func aRequestThatGoesOutMeanwhileGoesOn() throws {
    var house = House()
    let shy = house.stage.create(.download) { $0.isDiscretionary = true }
    house.deliver()
    _ = house.takeOrders()
    let other = house.stage.create(.download)
    house.deliver()
    guard case .command(.suspend, shy, _)? = house.takeOrders().first else {
      throw Missing("it does not wait")
    }
    house.fact(.began(shy, at: house.stage.now.wall))
    guard case .command(.resume, shy, _)? = house.takeOrders().first else {
      throw Missing("it keeps its connection")
    }
    house.fact(
      .ended(other, .end(of: try #require(house.stage.machine.task(other)).task, at: house.stage.now.wall)))
    #expect(house.takeOrders().isEmpty)
  }

  @Test func discretionaryTasksYield() throws {
    var house = House()
    house.stage.now.isHeard = true
    let shy = house.stage.create(.download) { $0.isDiscretionary = true }
    house.deliver()
    #expect(house.takeOrders().submissions == [0: shy])
    let bold = house.stage.create(.download)
    house.deliver()
    let orders = house.takeOrders()
    guard case .command(.suspend, shy, _)? = orders.first else { throw Missing("it does not yield") }
    #expect(orders.submissions == [0: bold])
    let task = try #require(house.stage.machine.task(bold)).task
    house.fact(.ended(bold, .end(of: task, at: house.stage.now.wall)))
    guard case .command(.resume, shy, _)? = house.takeOrders().last else {
      throw Missing("it does not go on")
    }
  }
}

extension Array where Element == WorkerTurn.Order {
  /// The tasks that are submitted, by the number of questions that were asked about them so far.
  fileprivate var submissions: [Int: TaskID] {
    var found: [Int: TaskID] = [:]
    for case .submit(let submission) in self { found[submission.questions] = submission.task.id }
    return found
  }
  /// The numbers of the questions that are answered.
  fileprivate var answers: [Int] {
    compactMap { if case .command(.answer(_, let number), _, _) = $0 { number } else { nil } }
  }
}

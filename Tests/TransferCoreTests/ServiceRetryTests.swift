import HTTPFields
import Testing
import TransferModel

@testable import TransferCore

/// Attempts of tasks outside background sessions, over crashes and handovers of their services.
@Suite struct ServiceRetryTests {
  private static func task(
    _ harness: inout SessionMachineHarness, _ kind: TaskKind = .data, method: String = "GET",
    attempts: Int? = nil
  ) -> TaskID {
    harness.create(kind, method: method) {
      $0.preferences.retry = RetryConfiguration()
      $0.preferences.retry?.maximumAttempts = attempts
    }
  }

  private static func lost(_ id: TaskID, in harness: SessionMachineHarness) throws -> TransferFact {
    let task = try #require(harness.machine.task(id)?.task)
    return .ended(id, .end(of: task, at: harness.now.wall, error: .networkConnectionLost))
  }

  private static func submissions(_ harness: inout SessionMachineHarness) -> Int {
    harness.takeOrders().count { if case .submit = $0 { true } else { false } }
  }

  /// Starts another service after a crash of the first.
  private static func restarted(_ old: SessionMachineHarness, _ id: TaskID) throws -> SessionMachineHarness {
    var new = SessionMachineHarness(after: old)
    new.give(.recovered(try #require(old.rows[id])))
    new.give(.recoveredAll)
    return new
  }

  @Test func `next attempt begins when its time has come`() throws {
    var harness = SessionMachineHarness()
    let id = Self.task(&harness)
    #expect(Self.submissions(&harness) == 1 && harness.rows[id]?.retryProgress?.isActive == true)
    harness.fact(.began(id, at: harness.now.wall))
    harness.fact(try Self.lost(id, in: harness))
    let row = try #require(harness.rows[id])
    #expect(row.phase == .waitingToRetry && row.retryCount == 1 && row.retryProgress?.isActive == false)
    #expect(harness.machine.isQuiet && harness.ends.isEmpty)
    guard case .retry(id, let seconds)? = harness.takeAlarms().last else {
      Issue.record("no timer was set")
      return
    }
    #expect((0.5...1).contains(seconds))
    // A timer that fires too early is set again, also if the wall clock was set.
    harness.now.wall = harness.now.wall.adding(seconds: 86_400)
    harness.give(.begin(id))
    guard case .retry(id, _)? = harness.takeAlarms().last else {
      Issue.record("no timer was set again")
      return
    }
    #expect(Self.submissions(&harness) == 0)
    harness.now.uptime = harness.now.uptime.advanced(by: .seconds(2))
    harness.give(.begin(id))
    #expect(Self.submissions(&harness) == 1 && harness.rows[id]?.retryProgress?.attempts == 2)
  }

  @Test func `crash during an attempt begins another`() throws {
    var old = SessionMachineHarness()
    let id = Self.task(&old)
    old.fact(.began(id, at: old.now.wall))
    var new = try Self.restarted(old, id)
    #expect(Self.submissions(&new) == 1 && new.ends.isEmpty)
    let row = try #require(new.rows[id])
    #expect(row.retryCount == 1 && row.retryProgress?.attempts == 2 && row.retryProgress?.deaths == 1)
    #expect(row.retryWait?.lastError.reason == .url(.networkConnectionLost))
  }

  @Test func `waiting task keeps waiting after a crash`() throws {
    var old = SessionMachineHarness()
    let id = Self.task(&old)
    old.fact(try Self.lost(id, in: old))
    old.now.wall = old.now.wall.adding(seconds: -3600)
    var new = try Self.restarted(old, id)
    #expect(Self.submissions(&new) == 0)
    guard case .retry(id, let seconds)? = new.takeAlarms().last else {
      Issue.record("no timer was set")
      return
    }
    #expect(seconds <= 1)
  }

  @Test func `lost attempts are limited`() throws {
    var old = SessionMachineHarness()
    let id = Self.task(&old, attempts: 2)
    let second = try Self.restarted(old, id)
    let third = try Self.restarted(second, id)
    #expect(third.ends == [id: 1] && third.rows[id]?.error?.reason == .url(.networkConnectionLost))
  }

  @Test func `reported response ends the retries`() throws {
    var old = SessionMachineHarness()
    let id = Self.task(&old)
    old.fact(.response(id, .ok, BodyReference(nil), at: old.now.wall))
    old.give(.suspend(id))
    old.give(.resume(id))
    let new = try Self.restarted(old, id)
    #expect(new.ends == [id: 1] && new.rows[id]?.error?.reason == .url(.networkConnectionLost))
  }

  // MARK: Suspects

  @Test func `fifth crash ends the task`() throws {
    var harness = SessionMachineHarness()
    let id = Self.task(&harness)
    for deaths in 1...4 {
      harness = try Self.restarted(harness, id)
      #expect(harness.ends.isEmpty && harness.rows[id]?.retryProgress?.deaths == deaths)
      guard deaths >= CrashGuard.suspicion else { continue }
      #expect(harness.trials == [.wanted(id, deaths: deaths)] && Self.submissions(&harness) == 0)
      harness.give(.trialBegan(id))
      #expect(Self.submissions(&harness) == 1)
    }
    harness = try Self.restarted(harness, id)
    #expect(harness.ends == [id: 1] && harness.rows[id]?.error?.reason == .ferry(.attemptLimitReached))
  }

  @Test func `attempt that lasts is cleared`() throws {
    var harness = SessionMachineHarness()
    let id = Self.task(&harness)
    harness = try Self.restarted(harness, id)
    harness = try Self.restarted(harness, id)
    harness.give(.trialBegan(id))
    harness.fact(.began(id, at: harness.now.wall))
    #expect(harness.takeAlarms().last == .crashWindow(id, after: WorkerMachine.crashWindow))
    harness.give(.crashWindowPassed(id))
    #expect(harness.rows[id]?.retryProgress?.deaths == 0 && harness.trials.last == .over(id))
  }

  @Test func `suspect waits for its row`() throws {
    var harness = SessionMachineHarness()
    let id = Self.task(&harness)
    guard case .submit(let first)? = harness.takeOrders().first else { return }
    #expect(!TransferCommand.submit(first).waitsForCommit)
    harness = try Self.restarted(harness, id)
    guard case .submit(let second)? = harness.takeOrders().first else { return }
    #expect(TransferCommand.submit(second).waitsForCommit)
  }

  @Test func `suspect that cannot start makes room`() throws {
    var harness = SessionMachineHarness()
    let id = Self.task(&harness)
    harness = try Self.restarted(harness, id)
    harness = try Self.restarted(harness, id)
    harness.give(.suspend(id))
    harness.give(.trialBegan(id))
    #expect(harness.trials.last == .over(id) && Self.submissions(&harness) == 0)
    harness.give(.resume(id))
    #expect(harness.trials.last == .wanted(id, deaths: 2))
  }

  // MARK: Handover

  /// The last argument is the number of attempts that the next service counts.
  @Test(arguments: [("GET", false, 1), ("GET", true, 1), ("POST", false, 1), ("POST", true, 2)])
  func `handover continues the attempt`(_ method: String, _ wasSent: Bool, _ attempts: Int) throws {
    var old = SessionMachineHarness()
    let id = Self.task(&old, method: method)
    old.fact(.began(id, at: old.now.wall))
    _ = old.takeOrders()
    old.give(.prepareHandover)
    guard case .command(.cancel(keepsPartial: true), id)? = old.takeOrders().first else {
      Issue.record("the attempt was not stopped")
      return
    }
    var outcome = TransferOutcome.end(
      of: try #require(old.machine.task(id)?.task), at: old.now.wall, error: .cancelled)
    if wasSent {
      var transaction = TransactionMetrics()
      transaction.requestStart = old.now.wall
      outcome.transactions = [transaction]
    }
    old.fact(.ended(id, outcome))
    #expect(old.ends.isEmpty && old.rows[id]?.executionState.goesOn == true)
    var new = try Self.restarted(old, id)
    #expect(Self.submissions(&new) == 1)
    let row = try #require(new.rows[id])
    #expect(row.retryProgress?.attempts == attempts && row.retryCount == attempts - 1)
    #expect(row.retryProgress?.deaths == 0)
  }

  // MARK: Responses

  private static func response(_ status: Int) -> TransferResponse {
    TransferResponse(
      url: "http://origin.test/a", status: status, headers: HTTPHeaders(), expectedContentLength: 0,
      httpVersion: "HTTP/1.1")
  }

  @Test func `response that leads to a retry is hidden`() throws {
    var harness = SessionMachineHarness()
    let id = Self.task(&harness, attempts: 2)
    for isLast in [false, true] {
      harness.fact(.response(id, Self.response(503), BodyReference(nil), at: harness.now.wall))
      #expect(harness.machine.hidesResponse(of: id) != isLast)
      #expect((harness.machine.task(id)?.task.response == nil) != isLast)
      var progress = TaskProgress()
      progress.countOfBytesReceived = 7
      harness.fact(.progress(id, progress, at: harness.now.wall))
      #expect(harness.machine.task(id)?.task.progress.countOfBytesReceived == (isLast ? 7 : 0))
      var outcome = TransferOutcome.end(
        of: try #require(harness.machine.task(id)?.task), at: harness.now.wall)
      outcome.response = Self.response(503)
      harness.fact(.ended(id, outcome))
      harness.now.uptime = harness.now.uptime.advanced(by: .seconds(2))
      harness.give(.begin(id))
    }
    #expect(harness.ends == [id: 1] && harness.rows[id]?.response?.status == 503)
    #expect(harness.types(of: id).count { $0 == .dataTaskDidReceiveResponse } == 1)
  }

  @Test func `next attempt sends the request as submitted`() throws {
    var harness = SessionMachineHarness()
    let id = Self.task(&harness)
    harness.fact(
      .redirected(
        id, Self.response(302), to: TransferRequest(url: "http://origin.test/signed"), at: harness.now.wall))
    harness.fact(try Self.lost(id, in: harness))
    #expect(harness.rows[id]?.currentRequest.url == "http://origin.test/a")
  }

  @Test func `resource timeout covers all attempts, without suspensions`() throws {
    var harness = SessionMachineHarness()
    let id = Self.task(&harness)
    let whole = harness.machine.session.configuration.timeoutIntervalForResource
    harness.fact(.began(id, at: harness.now.wall))
    harness.give(.suspend(id))
    harness.now.wall = harness.now.wall.adding(seconds: whole)
    harness.give(.resume(id))
    harness.fact(try Self.lost(id, in: harness))
    _ = harness.takeOrders()
    harness.now.uptime = harness.now.uptime.advanced(by: .seconds(2))
    harness.now.wall = harness.now.wall.adding(seconds: whole / 2)
    harness.give(.begin(id))
    guard case .submit(let task)? = harness.takeOrders().first else {
      Issue.record("no attempt was submitted")
      return
    }
    let left = try #require(task.retryProgress?.timeLeft)
    #expect(abs(left - whole / 2) < 1)
    harness.fact(try Self.lost(id, in: harness))
    harness.now.uptime = harness.now.uptime.advanced(by: .seconds(4))
    harness.now.wall = harness.now.wall.adding(seconds: whole)
    harness.give(.begin(id))
    #expect(harness.rows[id]?.error?.reason == .url(.timedOut))
  }
}

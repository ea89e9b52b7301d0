import HTTPFields
import Testing
import TransferModel

@testable import TransferCore

/// Changes of a task's request by its client.
@Suite struct RequestChangeTests {
  private static let url = "http://origin.test/new"

  private static func patch(
    _ url: String = url, _ headers: HTTPHeaders = HTTPHeaders()
  ) -> TaskPatch {
    var patch = TaskPatch()
    patch.request = RequestChange(url: url, headers: headers, credential: nil)
    return patch
  }

  private static func submitted(_ harness: inout SessionMachineHarness) -> [TransferTask] {
    harness.takeOrders().compactMap { if case .submit(let task) = $0 { task } else { nil } }
  }

  private static func refusal(_ result: InputResult) -> RequestChangeRefusal? {
    if case .refused(.requestInUse(let refusal)) = result { refusal } else { nil }
  }

  private static func restarted(_ old: SessionMachineHarness, _ id: TaskID) throws -> SessionMachineHarness {
    var new = SessionMachineHarness(after: old)
    new.give(.recovered(try #require(old.rows[id])))
    new.give(.recoveredAll)
    return new
  }

  private static func end(
    _ harness: SessionMachineHarness, _ id: TaskID, _ error: URLErrorCode?, wasSent: Bool = false,
    partial: ResumePoint? = nil
  ) throws -> TransferFact {
    let task = try #require(harness.machine.task(id)?.task)
    var outcome = TransferOutcome.end(of: task, at: harness.now.wall, error: error)
    outcome.currentRequest = task.originalRequest
    outcome.partial = partial
    if wasSent {
      outcome.transactions = [TransactionMetrics()]
      outcome.transactions[0].requestStart = harness.now.wall
    }
    return .ended(id, outcome)
  }

  private static func point(_ id: TaskID, resource: String?) -> ResumePoint {
    ResumePoint(
      partial: PartialBody(offset: 10, total: 60, validator: "\"v\"", resource: resource), source: id)
  }

  // MARK: Waiting tasks

  @Test func `suspended task begins with the changed request, also after a crash`() throws {
    var harness = SessionMachineHarness()
    let id = harness.create(isRunning: false)
    let headers = HTTPHeaders([.init(name: "X-A", value: "1")])
    guard case .task(let task) = harness.give(.change(id, Self.patch(Self.url, headers))) else {
      Issue.record("the change was refused")
      return
    }
    #expect(task.currentRequest.url == Self.url && task.currentRequest.headers == headers)
    #expect(task.originalRequest.url == "http://origin.test/a" && task.requestToRepeat.url == Self.url)
    #expect(harness.rows[id]?.currentRequest == task.currentRequest)
    var next = try Self.restarted(harness, id)
    for var harness in [harness, next] {
      harness.give(.resume(id))
      #expect(Self.submitted(&harness).map(\.currentRequest) == [task.currentRequest])
    }
    // A further change of the fields keeps the URL.
    next.give(.change(id, Self.patch(Self.url)))
    next.give(.resume(id))
    #expect(Self.submitted(&next).map(\.currentRequest.headers) == [HTTPHeaders()])
  }

  @Test func `attempt after the wait has the changed request`() throws {
    var harness = SessionMachineHarness()
    let id = harness.create { $0.preferences.retry = RetryConfiguration() }
    harness.fact(.began(id, at: harness.now.wall))
    harness.fact(
      .redirected(id, .ok, to: TransferRequest(url: "http://origin.test/b"), at: harness.now.wall))
    harness.fact(try Self.end(harness, id, .networkConnectionLost, wasSent: true))
    #expect(harness.machine.task(id)?.task.phase == .waitingToRetry)
    _ = harness.takeOrders()
    harness.give(.change(id, Self.patch()))
    #expect(harness.machine.task(id)?.task.phase == .waitingToRetry && harness.takeOrders().isEmpty)
    var next = try Self.restarted(harness, id)
    for var harness in [harness, next] {
      harness.give(.retryNow(id))
      #expect(Self.submitted(&harness).map(\.currentRequest.url) == [Self.url])
    }
    // The next attempts also begin with it, after their redirects, failures and crashes.
    next.give(.retryNow(id))
    next.fact(.began(id, at: next.now.wall))
    next.fact(.redirected(id, .ok, to: TransferRequest(url: "http://origin.test/b"), at: next.now.wall))
    _ = next.takeOrders()
    var last = try Self.restarted(next, id)
    #expect(Self.submitted(&last).map(\.currentRequest.url) == [Self.url])
  }

  // MARK: Submitted tasks

  /// The attempt may begin, respond, fail or succeed before the engine receives the command to stop.
  @Test(
    arguments: [
      (nil, false), (nil, true), (.cancelled, false), (.cancelled, true), (.timedOut, true),
    ] as [(URLErrorCode?, Bool)])
  func `queued attempt is replaced and clients learn nothing of it`(_ error: URLErrorCode?, _ begins: Bool)
    throws
  {
    var harness = SessionMachineHarness()
    let id = harness.create(.download)
    _ = harness.takeOrders()
    harness.give(.change(id, Self.patch()))
    guard case .command(.cancel(keepsPartial: true), id)? = harness.takeOrders().first else {
      Issue.record("the attempt goes on")
      return
    }
    let types = harness.types(of: id)
    if begins {
      harness.fact(.began(id, at: harness.now.wall))
      harness.fact(.redirected(id, .ok, to: TransferRequest(url: "http://b.test/"), at: harness.now.wall))
      harness.fact(.accepted(id, .ok))
      harness.fact(.keptPartial(id, Self.point(id, resource: "http://origin.test/a")))
    }
    #expect(harness.machine.task(id)?.task.currentRequest.url == Self.url)
    harness.fact(
      try Self.end(
        harness, id, error, wasSent: begins,
        partial: error == nil ? nil : Self.point(id, resource: "http://origin.test/a")))
    let task = try #require(Self.submitted(&harness).first)
    #expect(task.currentRequest.url == Self.url && task.response == nil)
    #expect(task.startPoint == (error == nil ? nil : Self.point(id, resource: nil)))
    #expect(harness.types(of: id) == types && harness.ends.isEmpty)
    #expect(task.retryCount == (begins ? 1 : 0))
  }

  @Test func `attempts of a changed task write under other stamps`() throws {
    var harness = SessionMachineHarness()
    let id = harness.create { $0.preferences.retry = RetryConfiguration() }
    harness.give(.change(id, Self.patch()))
    harness.fact(try Self.end(harness, id, .cancelled))
    harness.give(.change(id, Self.patch("http://origin.test/c")))
    harness.fact(try Self.end(harness, id, .cancelled))
    let stamps = Self.submitted(&harness).map {
      ($0.retryProgress?.attempts ?? 0) + ($0.startRequest?.changes ?? 0)
    }
    #expect(stamps == [1, 2, 3])
  }

  @Test func `task that waits for connectivity waits for that of the changed request`() throws {
    var harness = SessionMachineHarness()
    let id = harness.create()
    harness.fact(.waitsForConnectivity(id, at: harness.now.wall))
    harness.give(.change(id, Self.patch()))
    harness.fact(try Self.end(harness, id, .cancelled))
    #expect(Self.submitted(&harness).last?.currentRequest.url == Self.url)
    #expect(harness.machine.task(id)?.task.phase == .waitingForConnectivity)
    harness.fact(.began(id, at: harness.now.wall))
    #expect(harness.machine.task(id)?.task.phase == .transferring)
  }

  @Test func `paused download continues its bytes when it is resumed`() throws {
    var harness = SessionMachineHarness()
    let id = harness.create(.download)
    harness.fact(.began(id, at: harness.now.wall))
    harness.fact(.accepted(id, .ok))
    harness.give(.suspend(id))
    harness.give(.change(id, Self.patch()))
    // The client resumes the task before the engine has stopped the attempt.
    _ = harness.takeOrders()
    harness.give(.resume(id))
    harness.give(.suspend(id))
    #expect(Self.submitted(&harness).isEmpty)
    harness.fact(
      try Self.end(
        harness, id, .cancelled, wasSent: true, partial: Self.point(id, resource: "http://origin.test/a")))
    #expect(Self.submitted(&harness).isEmpty && harness.rows[id]?.partial == Self.point(id, resource: nil))
    harness.give(.resume(id))
    let task = try #require(Self.submitted(&harness).first)
    #expect(task.currentRequest.url == Self.url && task.startPoint == Self.point(id, resource: nil))
  }

  @Test func `open decision of the stopped attempt is withdrawn`() throws {
    var delegate = SessionDelegate()
    delegate.asksForRedirects = true
    var harness = SessionMachineHarness(delegate: delegate)
    let id = harness.create()
    harness.fact(.began(id, at: harness.now.wall))
    harness.fact(
      .asked(
        id, 1, .redirect(.ok, proposed: TransferRequest(url: "http://origin.test/b")), at: harness.now.wall))
    harness.give(.suspend(id))
    harness.give(.change(id, Self.patch()))
    #expect(harness.settlements.map(\.state) == [.withdrawn])
    harness.fact(try Self.end(harness, id, .cancelled, wasSent: true))
    harness.give(.resume(id))
    #expect(Self.submitted(&harness).last?.currentRequest.url == Self.url)
  }

  @Test func `cancelled task ends although its attempt was being replaced`() throws {
    var harness = SessionMachineHarness()
    let id = harness.create()
    harness.give(.change(id, Self.patch()))
    harness.give(.cancel(id, keepsPartial: false))
    harness.fact(try Self.end(harness, id, nil, wasSent: true))
    let row = try #require(harness.rows[id])
    #expect(harness.ends == [id: 1] && row.outcome == .cancelled && row.body == nil)
    #expect(row.currentRequest.url == Self.url && row.response == nil)
  }

  @Test func `request that must not be repeated is not sent again`() throws {
    var harness = SessionMachineHarness()
    let (sent, unsent) = (harness.create(method: "POST"), harness.create(method: "POST"))
    let retried = harness.create(method: "POST") { $0.preferences.retry = RetryConfiguration() }
    _ = harness.takeOrders()
    for id in [sent, unsent, retried] {
      harness.give(.change(id, Self.patch()))
      // An attempt that waits for its connection has begun, but was not sent.
      harness.fact(.began(id, at: harness.now.wall))
      harness.fact(try Self.end(harness, id, .cancelled, wasSent: id != unsent))
    }
    #expect(harness.ends == [sent: 1] && harness.rows[sent]?.error?.reason == .url(.networkConnectionLost))
    #expect(harness.rows[retried]?.retryCount == 1)
    harness.give(.retryNow(retried))
    #expect(Set(Self.submitted(&harness).map(\.id)) == [unsent, retried])
  }

  @Test func `change during a handover takes effect at the next service`() throws {
    var harness = SessionMachineHarness()
    let id = harness.create(.download)
    harness.give(.prepareHandover)
    harness.give(.change(id, Self.patch()))
    harness.fact(.redirected(id, .ok, to: TransferRequest(url: "http://b.test/"), at: harness.now.wall))
    harness.fact(try Self.end(harness, id, .cancelled))
    #expect(harness.machine.isQuiet)
    _ = harness.takeOrders()
    var next = try Self.restarted(harness, id)
    #expect(Self.submitted(&harness).isEmpty)
    #expect(Self.submitted(&next).map(\.currentRequest.url) == [Self.url])
  }

  // MARK: Uploads

  /// The server of an upload knows the received bytes only under its own URL.
  @Test(arguments: [true, false]) func `upload continues only at the same URL`(_ isMoved: Bool) throws {
    var harness = SessionMachineHarness()
    let id = harness.create(.upload, method: "PUT", isRunning: false) {
      $0.resumePoint = .upload(UploadPoint(resource: "http://origin.test/r", source: TaskID(high: 1, low: 1)))
    }
    harness.give(.change(id, Self.patch(isMoved ? Self.url : "http://origin.test/a")))
    harness.give(.resume(id))
    #expect((Self.submitted(&harness).last?.startPoint == nil) == isMoved)
  }

  // MARK: Refusals

  @Test func `request in use does not change`() throws {
    var harness = SessionMachineHarness()
    let transferring = harness.create()
    harness.fact(.began(transferring, at: harness.now.wall))
    let responded = harness.create()
    harness.fact(.began(responded, at: harness.now.wall))
    harness.fact(.response(responded, .ok, BodyReference(nil), at: harness.now.wall))
    harness.give(.suspend(responded))
    let streamed = harness.create(.upload, method: "PUT") { $0.request.body = .stream }
    let (sent, retried) = (
      harness.create(method: "POST"),
      harness.create(method: "POST") { $0.preferences.retry = RetryConfiguration() }
    )
    for id in [sent, retried] {
      harness.fact(.began(id, at: harness.now.wall))
      harness.give(.suspend(id))
    }
    let cancelled = harness.create()
    harness.give(.cancel(cancelled, keepsPartial: false))
    let rows = harness.rows
    for (id, expected) in [
      (transferring, .state(.running, .transferring)), (responded, .responded), (streamed, .streaming),
      (sent, .sent(method: "POST")), (cancelled, .state(.canceling, nil)),
    ] as [(TaskID, RequestChangeRefusal)] {
      #expect(Self.refusal(harness.give(.change(id, Self.patch()))) == expected)
    }
    #expect(harness.rows == rows)
    // The client has allowed that this request is sent twice.
    #expect(Self.refusal(harness.give(.change(retried, Self.patch()))) == nil)
    // Before its submission, a task with a streamed body can change.
    let idle = harness.create(.upload, method: "PUT", isRunning: false) { $0.request.body = .stream }
    #expect(Self.refusal(harness.give(.change(idle, Self.patch()))) == nil)
  }
}

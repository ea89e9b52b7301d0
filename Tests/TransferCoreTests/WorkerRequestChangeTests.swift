import HTTPFields
import Testing
import TransferModel

@testable import TransferCore

/// Changes of a background task's request, in the worker.
@Suite struct WorkerRequestChangeTests {
  private static let change = RequestChange(
    url: "http://origin.test/new", headers: HTTPHeaders(), credential: nil)

  /// A worker with one task.
  private struct Harness {
    var worker = WorkerMachine(discretion: DiscretionaryPolicy())
    var now = InputContext(wall: Timestamp(seconds: 1_700_000_000), uptime: .now)
    let task: TransferTask
    private(set) var effects = WorkerEffects(random: RandomSource(seed: 1))

    var id: TaskID { task.id }
    var submissions: [Submission] {
      effects.engineCommands.compactMap { if case .submit(let submission) = $0 { submission } else { nil } }
    }
    var cancels: Int {
      effects.engineCommands.count { if case .command(.cancel, _, _) = $0 { true } else { false } }
    }
    var row: WorkState? { effects.work.last { $0.task == id }?.state }

    init(_ kind: TaskKind = .download, method: String = "GET") {
      let session = TransferSession(
        id: SessionID(high: 1, low: 1), type: .background, createdAt: now.wall,
        description: nil, configuration: SessionConfiguration(), delegate: nil, identifier: "s")
      var specification = TaskSpecification(
        kind: kind, request: TransferRequest(url: "http://origin.test/a", method: method))
      specification.resume = true
      task = TransferTask(
        id: TaskID(high: 1, low: 2), sessionID: session.id, taskIdentifier: 1, createdAt: now.wall,
        specification: specification)
      for input in [.session(session), .started, .submit(task, in: nil)] as [WorkerInput] { give(input) }
    }

    mutating func give(_ input: WorkerInput) { worker.handle(input, at: now, into: &effects) }

    mutating func end(_ error: URLErrorCode?, wasSent: Bool = true, partial: ResumePoint? = nil) {
      var outcome = TransferOutcome.end(of: task, at: now.wall, error: error)
      outcome.partial = partial
      if wasSent {
        outcome.transactions = [TransactionMetrics()]
        outcome.transactions[0].requestStart = now.wall
      }
      give(.fact(.ended(id, outcome)))
    }

    var ended: Bool { effects.facts.contains { if case .ended = $0 { true } else { false } } }
  }

  @Test(arguments: [nil, .cancelled, .timedOut] as [URLErrorCode?])
  func `running attempt is replaced`(_ error: URLErrorCode?) throws {
    var harness = Harness()
    harness.give(.fact(.began(harness.id, at: harness.now.wall)))
    harness.give(.command(.changeRequest(Self.change), harness.id))
    #expect(harness.cancels == 1 && harness.row?.request?.url == Self.change.url)
    let facts = harness.effects.facts.count
    harness.give(.fact(.response(harness.id, .ok, BodyReference(nil), at: harness.now.wall)))
    harness.give(
      .fact(.redirected(harness.id, .ok, to: TransferRequest(url: "http://b.test/"), at: harness.now.wall)))
    #expect(harness.effects.facts.count == facts)
    let point = ResumePoint(
      partial: PartialBody(offset: 1, total: 2, validator: "\"v\"", resource: "http://origin.test/a"),
      source: harness.id)
    harness.end(error, partial: error == nil ? nil : point)
    #expect(harness.submissions.map(\.task.currentRequest.url) == ["http://origin.test/a", Self.change.url])
    #expect(harness.submissions.last?.resumePoint == (error == nil ? nil : point.moved) && !harness.ended)
    guard case .attemptReplaced? = harness.effects.facts.last else {
      Issue.record("the service is not notified")
      return
    }
    // The next attempt counts.
    harness.end(nil)
    #expect(harness.ended)
  }

  @Test func `waiting attempt begins with the changed request, also in the next worker`() throws {
    var harness = Harness()
    harness.end(.networkConnectionLost)
    harness.give(.command(.changeRequest(Self.change), harness.id))
    #expect(harness.cancels == 0 && harness.submissions.count == 1)
    var next = Harness()
    let session = try #require(harness.worker.sessions.values.first)
    next.worker = WorkerMachine(discretion: DiscretionaryPolicy())
    let state = try #require(harness.row)
    next.give(.session(session))
    next.give(.recovered(harness.task, in: session, state, hasCrashed: true))
    next.give(.started)
    for var harness in [harness, next] {
      harness.give(.command(.retryNow, harness.id))
      #expect(harness.submissions.last?.task.currentRequest.url == Self.change.url)
    }
  }

  @Test func `suspended attempt stops and waits for its resumption`() {
    var harness = Harness()
    harness.give(.command(.suspend, harness.id))
    harness.give(.command(.changeRequest(Self.change), harness.id))
    harness.end(.cancelled, wasSent: false)
    #expect(harness.submissions.count == 1)
    harness.give(.command(.resume, harness.id))
    #expect(harness.submissions.last?.task.currentRequest.url == Self.change.url)
  }

  @Test func `attempt before its submission has the changed request and is not stopped`() {
    var harness = Harness(.upload, method: "POST")
    #expect(harness.submissions.isEmpty && harness.effects.written.count == 1)
    harness.give(.command(.changeRequest(Self.change), harness.id))
    harness.give(.attemptCommitted(harness.id, attempt: 1))
    #expect(harness.submissions.map(\.task.currentRequest.url) == [Self.change.url])
    harness.give(.fact(.began(harness.id, at: harness.now.wall)))
    harness.end(nil)
    #expect(harness.ended)
  }

  /// The client knows the response, or the request must not be sent twice.
  @Test(arguments: ["POST", "GET"]) func `attempt that cannot be replaced continues`(_ method: String) {
    var harness = Harness(.data, method: method)
    if method == "POST" { harness.give(.attemptCommitted(harness.id, attempt: 1)) }
    harness.give(.fact(.began(harness.id, at: harness.now.wall)))
    if method == "GET" {
      harness.give(.fact(.response(harness.id, .ok, BodyReference(nil), at: harness.now.wall)))
    }
    harness.give(.command(.changeRequest(Self.change), harness.id))
    #expect(harness.cancels == 0 && harness.row?.request?.url == Self.change.url)
    harness.end(.networkConnectionLost)
    harness.give(.command(.retryNow, harness.id))
    if method == "POST" { harness.give(.attemptCommitted(harness.id, attempt: 2)) }
    #expect(harness.submissions.last?.task.currentRequest.url == Self.change.url)
  }

  @Test func `known request changes nothing`() {
    var harness = Harness()
    let same = RequestChange(url: "http://origin.test/a", headers: HTTPHeaders(), credential: nil)
    harness.give(.command(.changeRequest(same), harness.id))
    #expect(harness.cancels == 0)
  }

  /// The service resets the current request, which redirects of the stopped attempt have changed.
  @Test func `service shows the changed request after the attempt was replaced`() throws {
    var harness = SessionMachineHarness(.background)
    let id = harness.create(.download)
    harness.fact(.waitsForConnectivity(id, at: harness.now.wall))
    var patch = TaskPatch()
    patch.request = Self.change
    harness.give(.change(id, patch))
    guard case .command(.changeRequest(Self.change), id)? = harness.takeOrders().last else {
      Issue.record("the worker is not notified")
      return
    }
    #expect(harness.rows[id]?.currentRequest.url == Self.change.url)
    harness.fact(.redirected(id, .ok, to: TransferRequest(url: "http://b.test/"), at: harness.now.wall))
    harness.fact(.attemptReplaced(id, at: harness.now.wall))
    #expect(harness.rows[id]?.currentRequest.url == Self.change.url)
  }
}

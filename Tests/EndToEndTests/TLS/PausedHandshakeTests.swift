import Glibc
import JSON
import TestSupport
import Testing

/// Events during a paused handshake.
@Suite(.serialized, .blocking, .sharing) struct PausedHandshakeTests {
  private let fixture: HandshakeFixture
  private let relay: TCPRelay
  private var ferry: FerryProcess { fixture.ferry }
  private var url: String { "https://127.0.0.1:\(relay.port)/hello.txt" }

  init() throws {
    fixture = try HandshakeFixture()
    relay = TCPRelay(to: fixture.nginx.port(.selfSigned))
  }

  private func hold(
    _ configuration: String = "{}", request: String = ""
  ) throws -> (session: String, id: String, challenge: EventReader.Event) {
    let session = try ferry.session(configuration, delegate: HandshakeFixture.asking)
    let id = try ferry.create(url, session: session, request: request)
    return (session, id, try ferry.decisionEvent(of: id, HandshakeFixture.event))
  }

  /// Expects that no request was logged, and no application data record (type 23) was sent.
  private func expectNothingWasSent() {
    #expect(fixture.nginx.log().isEmpty)
    #expect(relay.records.allSatisfy { !$0.contains(23) })
  }

  /// TLS 1.2 shows the types of all records: only the handshake record (22) is sent before the answer.
  @Test(arguments: ["TLSv1.2", "TLSv1.3"]) func `request is not sent before the answer`(_ version: String)
    throws
  {
    let (_, id, challenge) = try hold(#"{"tlsMaximumSupportedProtocolVersion":"\#(version)"}"#)
    #expect(try ferry.task(id)["phase"]?.string == "waitingForDecision")
    // Other tasks run meanwhile.
    try ferry.waitForEarlierCommands(fixture.nginx.url(.plain, "/hello.txt"))
    #expect(relay.records == [[22]])
    #expect(fixture.nginx.log(atLeast: 1).count == 1)
    try fixture.answer(challenge, HandshakeFixture.trust)
    #expect(try ferry.end(of: id)["error"] == .null)
    #expect(relay.records.first?.contains(23) == true)
    #expect(fixture.nginx.log(atLeast: 2).count == 2)
  }

  @Test func `cancelled task ends and its decision is withdrawn`() throws {
    let (session, id, challenge) = try hold()
    #expect(try ferry.act("cancel", id) != nil)
    #expect(try ferry.end(of: id).errorCode == -999)
    #expect(try ferry.decision(challenge.decision)["state"]?.string == "withdrawn")
    #expect(try ferry.answer(challenge.decision, HandshakeFixture.trust).status == 409)
    expectNothingWasSent()
    // The session still works.
    let next = try ferry.create(url, session: session)
    try fixture.answer(ferry.decisionEvent(of: next, HandshakeFixture.event), HandshakeFixture.trust)
    #expect(try ferry.end(of: next)["error"] == .null)
  }

  /// The answer may come during the suspension or after the resume.
  @Test(arguments: [true, false]) func `suspended task waits for its handshake`(_ answersFirst: Bool) throws {
    let (_, id, challenge) = try hold()
    #expect(try ferry.act("suspend", id) == "suspended")
    if answersFirst {
      #expect(try fixture.answer(challenge, HandshakeFixture.trust) == "answered")
      try ferry.waitForEarlierCommands(fixture.nginx.url(.plain, "/hello.txt"))
      #expect(try ferry.task(id)["state"]?.string == "suspended")
      #expect(try ferry.task(id)["response"] == .null)
    }
    #expect(try ferry.act("resume", id) == "running")
    if !answersFirst { try fixture.answer(challenge, HandshakeFixture.trust) }
    #expect(try ferry.end(of: id)["error"] == .null)
    #expect(try fixture.challenges(of: id) == 1)
  }

  /// The request's timeout does not run while the task waits for a decision. The resource's timeout does.
  @Test func `resource timeout runs during a decision`() throws {
    let (_, id, challenge) = try hold(#"{"timeoutIntervalForResource":0.8}"#)
    let end = try ferry.end(of: id)
    #expect(end.errorCode == -1001 && end["response"] == .null)
    #expect(try ferry.decision(challenge.decision)["state"]?.string == "withdrawn")
    expectNothingWasSent()
  }

  @Test func `request timeout is paused during a decision`() throws {
    let (_, id, challenge) = try hold(request: #","timeoutInterval":1"#)
    usleep(1_800_000)
    #expect(try ferry.task(id)["phase"]?.string == "waitingForDecision")
    try fixture.answer(challenge, HandshakeFixture.trust)
    #expect(try ferry.end(of: id)["error"] == .null)
  }

  @Test func `invalidated session cancels the task and its decision`() throws {
    let (session, id, challenge) = try hold()
    let path = "/v1/sessions/\(session)"
    let reply = try ferry.call("POST", path + "/invalidate", #"{"mode":"cancelTasks"}"#)
    #expect(reply.status == 202)
    #expect(try ferry.end(of: id).errorCode == -999)
    #expect(try ferry.poll(path) { $0["state"]?.string == "invalid" }["state"]?.string == "invalid")
    #expect(try ferry.decision(challenge.decision)["state"]?.string == "withdrawn")
    expectNothingWasSent()
    #expect(try ferry.call("GET", "/readyz").status == 200)
  }

  /// `finishTasks` lets running tasks end.
  @Test func `finishTasks mode waits for the paused task`() throws {
    let (session, id, challenge) = try hold()
    let path = "/v1/sessions/\(session)"
    #expect(try ferry.call("POST", path + "/invalidate", #"{"mode":"finishTasks"}"#).status == 202)
    try fixture.answer(challenge, HandshakeFixture.trust)
    #expect(try ferry.end(of: id)["error"] == .null)
    #expect(try ferry.poll(path) { $0["state"]?.string == "invalid" }["state"]?.string == "invalid")
  }

  /// The server has closed the connection before the answer comes. Each answer ends the task with an error at once.
  @Test(arguments: [HandshakeFixture.trust, HandshakeFixture.byDefault, HandshakeFixture.cancel])
  func `server that closes the connection ends the task`(_ answer: String) throws {
    let (session, id, challenge) = try hold()
    relay.cut()
    try ferry.waitForEarlierCommands(fixture.nginx.url(.plain, "/hello.txt"))
    try fixture.answer(challenge, answer)
    let code = try ferry.end(of: id).errorCode
    switch answer {
    case HandshakeFixture.trust: #expect([-1005, -1200].contains(code), "\(code ?? 0)")
    case HandshakeFixture.cancel: #expect(code == -999)
    default: #expect(code == -1203)
    }
    let next = try ferry.create(url, session: session)
    if answer != HandshakeFixture.trust {
      try fixture.answer(ferry.decisionEvent(of: next, HandshakeFixture.event), HandshakeFixture.trust)
    }
    #expect(try ferry.end(of: next)["error"] == .null)
  }

  @Test func `service stops during a paused handshake`() throws {
    let (_, id, _) = try hold()
    #expect(try ferry.task(id)["phase"]?.string == "waitingForDecision")
    let start = ContinuousClock.now
    #expect(ferry.terminate() == 0)
    #expect(ContinuousClock.now - start < .seconds(10))
  }
}

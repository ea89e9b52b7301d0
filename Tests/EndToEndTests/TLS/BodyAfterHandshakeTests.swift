import JSON
import TestSupport
import Testing

/// Ferry requests a streamed body only after the connection's challenges are answered.
@Suite(.serialized, .blocking, .sharing) struct BodyAfterHandshakeTests {
  private typealias Fixture = HandshakeFixture
  private static let body = "task.needNewBodyStream"

  private let fixture: HandshakeFixture
  private var ferry: FerryProcess { fixture.ferry }

  init() throws { fixture = try HandshakeFixture() }

  private func create(
    _ name: String, _ face: NginxServer.Site = .selfSigned, session: String, path: String = "/put/"
  ) throws -> String {
    try ferry.create(
      fixture.nginx.url(face, path + name), kind: "upload", session: session,
      request: #","method":"PUT","body":{"stream":true}"#)
  }

  private func questions(of task: String) throws -> [String] {
    try ferry.story(of: task).map(\.type).filter { $0 == Self.body || $0 == Fixture.event }
  }

  private func expectUploaded(_ name: String, _ bytes: [UInt8], by task: String) throws {
    let end = try ferry.end(of: task)
    #expect(end["error"] == .null && [201, 204].contains(end["response"]?["status"]?.integer))
    #expect(fixture.nginx.uploaded(name) == bytes)
  }

  @Test(arguments: ["TLSv1.2", "TLSv1.3"], [true, false])
  func `streamed body is requested after the trust decision`(_ version: String, _ isChunked: Bool) throws {
    let session = try ferry.session(
      #"{"tlsMaximumSupportedProtocolVersion":"\#(version)"}"#, delegate: Fixture.asking)
    for (number, size) in [100_000, 0].enumerated() {
      let name = "trust-\(number)"
      let task = try create(name, session: session)
      if number == 0 {
        let challenge = try ferry.decisionEvent(of: task, Fixture.event)
        try fixture.answer(challenge, Fixture.trust)
      }
      _ = try ferry.decisionEvent(of: task, Self.body)
      #expect(try ferry.task(task)["phase"]?.string == "waitingForDecision")
      let bytes = Pattern.bytes(size)
      #expect(try ferry.put(bytes, to: task, isChunked: isChunked).status == 204)
      try expectUploaded(name, bytes, by: task)
      // The session trusts the chain after the first task.
      let phases = try ferry.story(of: task).compactMap { $0.data["phase"]?.string }
      #expect(phases.last == "transferring")
      #expect(try questions(of: task) == (number == 0 ? [Fixture.event, Self.body] : [Self.body]))
      let progress = try ferry.task(task)["progress"]
      #expect(progress?["countOfBytesSent"]?.integer == Int64(size))
    }
  }

  @Test(arguments: ["TLSv1.2", "TLSv1.3"]) func `client certificate precedes body`(_ version: String) throws {
    let session = try ferry.session(
      #"{"tlsMaximumSupportedProtocolVersion":"\#(version)"}"#, delegate: Fixture.asking)
    let task = try create("certificate", .asksForCertificate, session: session)
    let trust = try ferry.decisionEvent(of: task, Fixture.event)
    try fixture.answer(trust, Fixture.trust)
    let certificate = try ferry.decisionEvent(of: task, Fixture.event, after: try #require(trust.id))
    try fixture.answer(certificate, try Fixture.certificate(.client))
    _ = try ferry.decisionEvent(of: task, Self.body)
    #expect(try ferry.put(Pattern.bytes(70_000), to: task).status == 204)
    try expectUploaded("certificate", Pattern.bytes(70_000), by: task)
    #expect(try questions(of: task) == [Fixture.event, Fixture.event, Self.body])
  }

  /// A 401 ends the first connection while most of the body is unsent. The next connection's challenges precede its
  /// body too.
  @Test(arguments: [true, false], [1000, 900_000])
  func `challenges of the next connection precede the next body`(_ hasHTTP2: Bool, _ size: Int) throws {
    let fixture = try HandshakeFixture(hasHTTP2: hasHTTP2)
    let ferry = fixture.ferry
    let session = try ferry.session(
      FerryProcess.uncached, delegate: #"{"sessionChallenges":"ask","taskChallenges":"ask"}"#)
    let task = try ferry.create(
      fixture.nginx.url(.asksForCertificate, "/basic/any"), kind: "upload", session: session,
      request: #","method":"PUT","body":{"stream":true}"#)
    let events = try ferry.events("/v1/tasks/\(task)/events?after=0&progress=false")
    var asked: [String] = []
    while let event = try events.next(), event.type != "task.didComplete" {
      if event.type == Self.body {
        asked.append("body")
        _ = try ferry.put(Pattern.bytes(size), to: task)
      } else if event.type.hasSuffix("didReceiveChallenge") {
        let method = event.data["protectionSpace"]?["authenticationMethod"]?.string ?? ""
        asked.append(method)
        switch method {
        case Fixture.serverTrust: try fixture.answer(event, Fixture.trust)
        case Fixture.clientCertificate:
          try fixture.answer(event, Fixture.certificate(.client, persistence: "forSession"))
        default:
          try fixture.answer(event, LoginAnswer.use(NginxServer.user, NginxServer.password, "forSession"))
        }
      }
    }
    // nginx answers 405 to a `PUT` at this path.
    #expect(try ferry.task(task).status == 405)
    #expect(asked.prefix(3) == [Fixture.serverTrust, Fixture.clientCertificate, "body"])
    #expect(asked.count { $0 == "body" } == 2 && asked.last == "body", "\(asked)")
  }

  @Test func `upload to an untrusted server requests no body`() throws {
    let session = try ferry.session(delegate: Fixture.asking)
    let task = try create("refused", session: session)
    try fixture.answer(ferry.decisionEvent(of: task, Fixture.event), Fixture.reject)
    #expect(try ferry.end(of: task).errorCode == -1203)
    #expect(try questions(of: task) == [Fixture.event])
  }

  /// The client may begin to send the body before Ferry requests it.
  @Test func `body that is sent early waits for the handshake`() throws {
    let session = try ferry.session(delegate: Fixture.asking)
    let task = try create("early", session: session)
    let writer = try BodyWriter(ferry, task, length: 1000)
    try writer.write(Pattern.bytes(1000))
    let challenge = try ferry.decisionEvent(of: task, Fixture.event)
    try fixture.answer(challenge, Fixture.trust)
    #expect(try writer.finish().status == 204)
    try expectUploaded("early", Pattern.bytes(1000), by: task)
  }

  // MARK: While the connection waits for the body

  private func hold(_ name: String, _ delegate: String = Fixture.asking) throws -> String {
    let session = try ferry.session(delegate: delegate)
    let task = try create(name, session: session)
    try fixture.answer(ferry.decisionEvent(of: task, Fixture.event), Fixture.trust)
    _ = try ferry.decisionEvent(of: task, Self.body)
    return task
  }

  @Test func `cancelled task ends and refuses the body`() throws {
    let task = try hold("cancelled")
    #expect(try ferry.act("cancel", task) == "canceling")
    #expect(try ferry.end(of: task).errorCode == -999)
    #expect(fixture.nginx.log().isEmpty)
    #expect(try ferry.put([1], to: task).status == 409)
  }

  @Test func `upload without a body times out`() throws {
    let task = try hold("unsent", Fixture.impatient)
    #expect(try ferry.end(of: task).errorCode == -1021)
    #expect(fixture.nginx.log().isEmpty)
  }

  @Test func `suspended task accepts the body after resume`() throws {
    let task = try hold("suspended")
    #expect(try ferry.act("suspend", task) == "suspended")
    let writer = try BodyWriter(ferry, task, length: 1000)
    try writer.write(Pattern.bytes(1000))
    #expect(!writer.client.socket.hasBytes(within: 300))
    #expect(try ferry.act("resume", task) == "running")
    #expect(try writer.finish().status == 204)
    try expectUploaded("suspended", Pattern.bytes(1000), by: task)
  }

  /// A server closes an idle connection. Ferry opens another for a late body.
  @Test func `late body is sent on a new connection`() throws {
    let task = try hold("late")
    // The server closes the idle connection within 10.5 s, without a response.
    #expect(try !Socket(connectingTo: fixture.nginx.port(.plain)).hasBytes(within: 10_500))
    #expect(try ferry.put(Pattern.bytes(1000), to: task).status == 204)
    try expectUploaded("late", Pattern.bytes(1000), by: task)
    #expect(try questions(of: task) == [Fixture.event, Self.body])
  }
}

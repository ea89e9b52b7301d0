import JSON
import TestSupport
import Testing

/// Client certificates that a session stores.
@Suite(.serialized, .blocking) struct StoredCertificateTests {
  private typealias Fixture = HandshakeFixture
  private let nginx: NginxServer
  private let relay: TCPRelay
  private let directory = TemporaryDirectory.make("ferry-certificates")
  private var url: String { "https://127.0.0.1:\(relay.port)/who" }

  init() throws {
    nginx = try NginxServer()
    relay = TCPRelay(to: nginx.port(.optionalCertificate))
  }

  private func ferry() throws -> FerryProcess {
    try FerryProcess(directory: directory, options: ["--ca-file", nginx.authorityFile])
  }

  private var space: String {
    #"{"host":"127.0.0.1","port":\#(relay.port),"authenticationMethod":"\#(Fixture.clientCertificate)"}"#
  }

  private func store(
    _ leaf: CertificateKit.Leaf, _ persistence: String = "forSession", in session: String,
    of ferry: FerryProcess
  ) throws {
    let credential = try Fixture.identity(leaf, persistence: persistence)
    let reply = try ferry.call(
      "PUT", "/v1/sessions/\(session)/credentials",
      #"{"protectionSpace":\#(space),"credential":\#(credential)}"#)
    #expect(reply.status == 200 && !reply.text.contains("PRIVATE KEY"))
  }

  /// Returns the server's view of the client certificate, or the status or error code if the server refused the
  /// request.
  private func who(_ ferry: FerryProcess, _ session: String, _ path: String = "") throws -> String {
    let task = try ferry.run(url + path, kind: "data", session: session)
    guard task["response"]?["status"]?.integer == 200 else {
      return task["response"]?["status"]?.integer.map(String.init) ?? "\(task.errorCode ?? 0)"
    }
    return try ferry.call("GET", "/v1/tasks/\(task.id)/body").text
  }

  @Test func `stored certificate is shown without a challenge`() throws {
    let ferry = try ferry()
    let (session, other) = (try ferry.session(), try ferry.session())
    try store(.client, in: session, of: ferry)
    #expect(try who(ferry, session) == "SUCCESS CN=client")
    #expect(try who(ferry, other) == "NONE ")
    let path = "/v1/sessions/\(session)/credentials"
    let list = try ferry.call("GET", path)
    #expect(list.json["items"]?.elements?.count == 1 && !list.text.contains("PRIVATE KEY"))
    #expect(try ferry.call("GET", "/v1/sessions/\(other)/credentials").json["items"]?.elements == [])
  }

  /// Only a permanent certificate survives a restart.
  @Test(arguments: ["permanent", "forSession"]) func permanentSurvivesRestart(_ persistence: String) throws {
    var ferry = try ferry()
    let session = try ferry.session()
    try store(.client, persistence, in: session, of: ferry)
    #expect(try who(ferry, session) == "SUCCESS CN=client")
    ferry.kill()
    ferry = try self.ferry()
    #expect(try who(ferry, session) == (persistence == "permanent" ? "SUCCESS CN=client" : "NONE "))
  }

  /// The challenge proposes the stored certificate, and default handling uses it.
  @Test(arguments: [Fixture.byDefault, nil]) func `stored certificate is proposed`(_ answer: String?) throws {
    let ferry = try ferry()
    let session = try ferry.session(
      delegate: #"{"sessionChallenges":"ask","decisionTimeout":\#(answer == nil ? 1 : 30)}"#)
    try store(.client, in: session, of: ferry)
    let id = try ferry.create(url, session: session)
    let trust = try ferry.decisionEvent(of: id, Fixture.event)
    try ferry.answer(trust.decision, Fixture.byDefault)
    let challenge = try ferry.decisionEvent(of: id, Fixture.event, after: trust.id ?? 0)
    #expect(challenge.data["proposedCredential"] != .null && !challenge.data.text.contains("PRIVATE KEY"))
    if let answer { try ferry.answer(challenge.decision, answer) }
    _ = try ferry.end(of: id)
    #expect(try ferry.call("GET", "/v1/tasks/\(id)/body").text == "SUCCESS CN=client")
  }

  /// The certificate of an answer is stored for the time that its persistence says.
  @Test(arguments: ["none", "forSession", "permanent"]) func answerIsStored(_ persistence: String) throws {
    let ferry = try ferry()
    let session = try ferry.session(delegate: Fixture.asking)
    let id = try ferry.create(url, session: session)
    let trust = try ferry.decisionEvent(of: id, Fixture.event)
    try ferry.answer(trust.decision, Fixture.trust)
    let challenge = try ferry.decisionEvent(of: id, Fixture.event, after: trust.id ?? 0)
    try ferry.answer(challenge.decision, Fixture.certificate(.client, persistence: persistence))
    _ = try ferry.end(of: id)
    #expect(try ferry.call("GET", "/v1/tasks/\(id)/body").text == "SUCCESS CN=client")
    let items = try ferry.call("GET", "/v1/sessions/\(session)/credentials").json["items"]?.elements ?? []
    #expect(items.count == (persistence == "none" ? 0 : 1))
    for item in items {
      #expect(item["protectionSpace"]?["authenticationMethod"]?.string == Fixture.clientCertificate)
    }
  }

  /// A replaced certificate applies from the next connection on. No connection may resume a TLS session of an earlier
  /// certificate.
  @Test(arguments: ["TLSv1.2", "TLSv1.3"]) func `replacement certificate is used`(_ version: String) throws {
    let plain = try NginxServer(hasHTTP2: false)
    relay.redirect(to: plain.port(.optionalCertificate))
    let ferry = try ferry()
    let session = try ferry.session(#"{"tlsMaximumSupportedProtocolVersion":"\#(version)"}"#)
    func who() throws -> String { try self.who(ferry, session, "/last") }
    try store(.strangeClient, in: session, of: ferry)
    #expect(try who() == "400")
    try store(.client, in: session, of: ferry)
    for _ in 0..<2 { #expect(try who() == "SUCCESS CN=client") }
    #expect(try ferry.call("DELETE", "/v1/sessions/\(session)/credentials").status == 204)
    for _ in 0..<2 { #expect(try who() == "NONE ") }
    try store(.client, in: session, of: ferry)
    #expect(try who() == "SUCCESS CN=client")
  }
}

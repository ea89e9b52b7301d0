import JSON
import TestSupport
import Testing

/// The delegate that receives the handshake's challenges: the session's, the task's, or none.
@Suite(.serialized, .blocking, .sharing) struct ChallengeRoutingTests {
  private let fixture: HandshakeFixture
  private var ferry: FerryProcess { fixture.ferry }

  init() throws { fixture = try HandshakeFixture() }

  @Test(arguments: [
    (#"{"sessionChallenges":"ask"}"#, "session.didReceiveChallenge"),
    (#"{"sessionChallenges":"ask","taskChallenges":"ask"}"#, "session.didReceiveChallenge"),
    (#"{"sessionChallenges":"ask","taskChallenges":"default"}"#, "session.didReceiveChallenge"),
    (#"{"taskChallenges":"ask"}"#, "task.didReceiveChallenge"),
  ]) func `delegate that asks receives the challenges`(_ delegate: String, _ type: String) throws {
    let session = try ferry.session(delegate: delegate)
    let url = fixture.nginx.url(.asksForCertificate, "/who")
    let id = try ferry.create(url, session: session)
    let trust = try ferry.decisionEvent(of: id, type)
    try fixture.answer(trust, HandshakeFixture.trust)
    let certificate = try ferry.decisionEvent(of: id, type, after: trust.id ?? 0)
    try fixture.answer(certificate, HandshakeFixture.certificate(.client))
    #expect(try ferry.end(of: id)["error"] == .null)
    let types = try ferry.story(of: id).map(\.type).filter { $0.hasSuffix("didReceiveChallenge") }
    #expect(types == [type, type])
    let methods = [trust, certificate].map { $0.data["protectionSpace"]?["authenticationMethod"]?.string }
    #expect(methods == [HandshakeFixture.serverTrust, HandshakeFixture.clientCertificate])
    // The session's events include its challenges, with the id of the task that opened the connection.
    let events = try ferry.events("/v1/sessions/\(session)/events?after=0&types=\(type)")
    #expect(try events.next()?.task == id)
  }

  @Test(arguments: [
    "null", "{}", #"{"sessionChallenges":"default"}"#, #"{"taskChallenges":"default"}"#,
    #"{"sessionChallenges":"default","taskChallenges":"ask"}"#,
  ]) func `delegate that does not ask receives no challenge`(_ delegate: String) throws {
    let session = try ferry.session(delegate: delegate)
    let refused = try ferry.run(fixture.nginx.url(.selfSigned, "/hello.txt"), session: session)
    #expect(refused.errorCode == -1203)
    let unknown = try ferry.run(
      fixture.nginx.url(.optionalCertificate, "/who"), kind: "data", session: session)
    #expect(try ferry.call("GET", "/v1/tasks/\(unknown.id)/body").text == "NONE ")
    for id in [refused.id, unknown.id] { #expect(try fixture.challenges(of: id) == 0) }
  }

  /// Basic authentication over TLS: the trust challenge goes to the session, and the Basic challenge to the task.
  @Test func `session and task receive their own kinds of challenge`() throws {
    let session = try ferry.session(delegate: #"{"sessionChallenges":"ask","taskChallenges":"ask"}"#)
    let id = try ferry.create(fixture.nginx.url(.selfSigned, "/basic/hello.txt"), session: session)
    let trust = try ferry.decisionEvent(of: id, "session.didReceiveChallenge")
    try fixture.answer(trust, HandshakeFixture.trust)
    let basic = try ferry.decisionEvent(of: id, "task.didReceiveChallenge", after: trust.id ?? 0)
    #expect(
      basic.data["protectionSpace"]?["authenticationMethod"]?.string == "NSURLAuthenticationMethodHTTPBasic")
    #expect(basic.data["previousFailureCount"]?.integer == 0)
    let credential = #"{"user":"\#(NginxServer.user)","password":"\#(NginxServer.password)"}"#
    try fixture.answer(basic, #"{"disposition":"useCredential","credential":\#(credential)}"#)
    let end = try ferry.end(of: id)
    #expect(end["error"] == .null && end["response"]?["status"]?.integer == 200)
    #expect(fixture.nginx.log(atLeast: 2).map { $0.split(separator: " ")[2] } == ["401", "200"])
  }

  @Test func `each server of a redirect is challenged`() throws {
    let session = try ferry.session(delegate: HandshakeFixture.asking)
    let id = try ferry.create(fixture.nginx.url(.selfSigned, "/upgrade"), session: session)
    let first = try ferry.decisionEvent(of: id, HandshakeFixture.event)
    try fixture.answer(first, HandshakeFixture.trust)
    let second = try ferry.decisionEvent(of: id, HandshakeFixture.event, after: first.id ?? 0)
    let ports = [first, second].map { $0.data["protectionSpace"]?["port"]?.integer }
    #expect(ports == [NginxServer.Site.selfSigned, .good].map { Int64(fixture.nginx.port($0)) })
    try fixture.answer(second, HandshakeFixture.cancel)
    let end = try ferry.end(of: id)
    #expect(end.errorCode == -999)
    #expect(fixture.nginx.log(atLeast: 1).count == 1)
  }
}

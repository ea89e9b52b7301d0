import JSON
import TestSupport
import Testing

/// Servers that request a client certificate in the handshake.
@Suite(.serialized, .blocking, .sharing) struct ClientCertificateTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    /// The client's certificate. If this and `answer` are `nil`, the decision expires.
    let leaf: CertificateKit.Leaf?
    let answer: String?
    /// The status of the response. `nil` if the task is cancelled.
    let status: Int64?
  }
  private typealias Fixture = HandshakeFixture

  private static let cases = [
    Case(testDescription: "the expected client certificate", leaf: .client, answer: nil, status: 200),
    Case(testDescription: "a stranger's", leaf: .strangeClient, answer: nil, status: 400),
    Case(testDescription: "none", leaf: nil, answer: Fixture.byDefault, status: 400),
    Case(testDescription: "rejected", leaf: nil, answer: Fixture.reject, status: 400),
    Case(testDescription: "unanswered", leaf: nil, answer: nil, status: 400),
    Case(testDescription: "cancelled", leaf: nil, answer: Fixture.cancel, status: nil),
  ]

  /// Answers the trust challenge and returns the certificate challenge, which follows it.
  private func certificateChallenge(
    _ fixture: HandshakeFixture, _ task: Fixture.Challenged
  ) throws -> EventReader.Event {
    let trust = try fixture.challenge(task)
    #expect(trust.data["protectionSpace"]?["authenticationMethod"]?.string == Fixture.serverTrust)
    try fixture.answer(trust, Fixture.trust)
    let challenge = try fixture.challenge(task, after: trust.id ?? 0)
    let space = challenge.data["protectionSpace"]
    #expect(space?["authenticationMethod"]?.string == Fixture.clientCertificate)
    #expect(space?["distinguishedNames"]?.elements == [.string("CN=Authority")])
    #expect(space?["serverTrust"] == nil && challenge.data["failureResponse"] == .null)
    #expect(challenge.data["previousFailureCount"]?.integer == 0)
    return challenge
  }

  @Test(arguments: cases, [true, false]) func answerDecidesOutcome(_ example: Case, _ hasHTTP2: Bool) throws {
    let fixture = try HandshakeFixture(hasHTTP2: hasHTTP2)
    let isUnanswered = example.leaf == nil && example.answer == nil
    let delegate = isUnanswered ? #"{"sessionChallenges":"ask","decisionTimeout":1}"# : Fixture.asking
    for kind in Fixture.Kind.allCases {
      let session = try fixture.ferry.session(delegate: delegate)
      let task = try fixture.start(kind, .asksForCertificate, in: session)
      let challenge = try certificateChallenge(fixture, task)
      #expect(challenge.data["proposedCredential"] == .null)
      if let answer = try example.leaf.map({ try Fixture.certificate($0) }) ?? example.answer {
        #expect(try fixture.answer(challenge, answer) == "answered")
      }
      switch example.status {
      case 200: try fixture.expectSuccess(task, challenges: 2)
      case let status?:
        // The server may have closed the upload already.
        _ = try? task.writer?.finish()
        let end = try fixture.ferry.end(of: task.id)
        #expect(end["error"] == .null && end["response"]?["status"]?.integer == status)
        #expect(fixture.nginx.uploaded(task.name) == nil)
      case nil: try fixture.expectFailure(task, -999, challenges: 2)
      }
    }
  }

  /// A certificate belongs to its connection. After a rejected certificate, the next connection asks again. An accepted
  /// certificate holds for its connection.
  @Test(arguments: [true, false]) func `new connection allows another certificate`(_ hasHTTP2: Bool) throws {
    let fixture = try HandshakeFixture(hasHTTP2: hasHTTP2)
    let relay = TCPRelay(to: fixture.nginx.port(.asksForCertificate))
    let url = "https://127.0.0.1:\(relay.port)/who"
    let session = try fixture.ferry.session(delegate: Fixture.asking)
    for (leaf, status, trusts) in [(CertificateKit.Leaf.strangeClient, 400, true), (.client, 200, false)] {
      let id = try fixture.ferry.create(url, session: session)
      var challenge = try fixture.ferry.decisionEvent(of: id, Fixture.event)
      if trusts {
        try fixture.answer(challenge, Fixture.trust)
        challenge = try fixture.ferry.decisionEvent(of: id, Fixture.event, after: challenge.id ?? 0)
      }
      try fixture.answer(challenge, Fixture.certificate(leaf))
      #expect(try fixture.ferry.end(of: id)["response"]?["status"]?.integer == Int64(status))
      #expect(try fixture.challenges(of: id) == (trusts ? 2 : 1))
      // nginx leaves an HTTP/2 connection open on which it answers 400 to everything.
      if status == 400 { relay.cut() }
    }
    // The open connection is reused, without a challenge.
    let id = try fixture.ferry.run(url, kind: "data", session: session).id
    #expect(try fixture.ferry.call("GET", "/v1/tasks/\(id)/body").text == "SUCCESS CN=client")
    #expect(try fixture.challenges(of: id) == 0 && relay.connections == 2)
  }

  @Test func `certificate is shown only to servers that request one`() throws {
    let fixture = try HandshakeFixture()
    let session = try fixture.ferry.session(delegate: Fixture.asking)
    let task = try fixture.start(.data, .good, in: session)
    try fixture.answer(fixture.challenge(task), Fixture.trust)
    try fixture.expectSuccess(task)
    let url = fixture.nginx.url(.optionalCertificate, "/who")
    for (answer, text) in [
      (Fixture.byDefault, "NONE "), (try Fixture.certificate(.client), "SUCCESS CN=client"),
    ] {
      let session = try fixture.ferry.session(delegate: Fixture.asking)
      let id = try fixture.ferry.create(url, session: session)
      let trust = try fixture.ferry.decisionEvent(of: id, Fixture.event)
      try fixture.answer(trust, Fixture.trust)
      let challenge = try fixture.ferry.decisionEvent(of: id, Fixture.event, after: trust.id ?? 0)
      try fixture.answer(challenge, answer)
      _ = try fixture.ferry.end(of: id)
      #expect(try fixture.ferry.call("GET", "/v1/tasks/\(id)/body").text == text)
    }
  }

  /// A server that refuses the client in the handshake itself (RFC 8446 §4.4.2.4) instead of with a status.
  @Test(arguments: ["-tls1_2", "-tls1_3"]) func `refusal in handshake is an error`(_ version: String) throws {
    let server = try OpenSSLServer(version + " -Verify 1 -verify_return_error -CAfile authority.pem")
    let fixture = try HandshakeFixture()
    let session = try fixture.ferry.session(delegate: Fixture.asking)
    var isTrusted = false
    for (answer, code) in [
      (try Fixture.certificate(.strangeClient), -1205), (try Fixture.certificate(.client), nil),
      (Fixture.byDefault, -1206), (Fixture.reject, -1206),
    ] as [(String, Int64?)] {
      let id = try fixture.ferry.create(server.url(), session: session)
      var challenge = try fixture.ferry.decisionEvent(of: id, Fixture.event)
      if !isTrusted {
        try fixture.answer(challenge, Fixture.trust)
        challenge = try fixture.ferry.decisionEvent(of: id, Fixture.event, after: challenge.id ?? 0)
        isTrusted = true
      }
      try fixture.answer(challenge, answer)
      let end = try fixture.ferry.end(of: id)
      #expect(end.errorCode == code, "\(end["error"]?.text ?? "")")
    }
  }

  /// In TLS 1.3 the refusal arrives after the handshake, while the request is being sent. Ferry must read it although
  /// it is still writing.
  @Test(arguments: [10, 1_000_000]) func `refusal is read while a body is written`(_ size: Int) throws {
    let server = try RefusingTLSOrigin(version: "TLSv1_3")
    let fixture = try HandshakeFixture()
    let file = try fixture.ferry.store(Pattern.bytes(size))
    for _ in 0..<50 {
      let end = try fixture.ferry.run(
        server.url(), kind: "upload", session: fixture.ferry.session(),
        request: #","method":"POST","body":{"file":"\#(file)"}"#)
      #expect(end.errorCode == -1206, "\(end["error"]?.text ?? "")")
    }
  }

  /// A server may refuse with or without an alert, and Ferry may or may not read the alert. The error depends only on
  /// the certificate request and on the certificate that Ferry sent.
  @Test(arguments: ["TLSv1_2", "TLSv1_3"], RefusingTLSOrigin.Failure.allCases)
  func `certificate request decides the error`(_ version: String, _ manner: RefusingTLSOrigin.Failure) throws
  {
    let server = try RefusingTLSOrigin(version: version, manner)
    let fixture = try HandshakeFixture()
    let place = #""host":"127.0.0.1","port":\#(server.port),"protocol":"https""#
    let space = #"{\#(place),"authenticationMethod":"\#(Fixture.clientCertificate)"}"#
    for (leaf, code) in [(nil, -1206), (.strangeClient, -1205)] as [(CertificateKit.Leaf?, Int64)] {
      for round in 0..<10 {
        let session = try fixture.ferry.session()
        if let leaf {
          let stored =
            #"{"protectionSpace":\#(space),"credential":\#(try Fixture.identity(leaf, persistence: "forSession"))}"#
          let reply = try fixture.ferry.call("PUT", "/v1/sessions/\(session)/credentials", stored)
          #expect(reply.status == 200, "\(reply.text)")
        }
        let end = try fixture.ferry.run(server.url(), kind: "data", session: session)
        #expect(end.errorCode == code, "\(round): \(end["error"]?.text ?? "")")
      }
    }
  }

  /// A server that requested a certificate and then accepted the client without one can lose its connection like any
  /// other server.
  @Test(arguments: ["TLSv1_2", "TLSv1_3"]) func `lost connection after accepted handshake is no TLS error`(
    _ version: String
  ) throws {
    let server = try RefusingTLSOrigin(version: version, .closesAfterRequest)
    let fixture = try HandshakeFixture()
    for _ in 0..<10 {
      let end = try fixture.ferry.run(server.url(), kind: "data", session: fixture.ferry.session())
      #expect([-1005, -1011].contains(end.errorCode), "\(end["error"]?.text ?? "")")
    }
  }

  // MARK: Invalid certificates

  @Test func `unusable certificate or key is reported by its field`() throws {
    let fixture = try HandshakeFixture()
    let session = try fixture.ferry.session(delegate: Fixture.asking)
    let task = try fixture.start(.data, .asksForCertificate, in: session)
    let challenge = try certificateChallenge(fixture, task)
    let kit = try CertificateKit.shared()
    let certificate = kit.leaves[.client] ?? ""
    let locked = try OpenSSL.run("pkcs8 -topk8 -passout pass:secret", input: Array(kit.key.utf8))
    let other = try OpenSSL.run("ecparam -name prime256v1 -genkey -noout")
    let space = #""host":"127.0.0.1","authenticationMethod":"\#(Fixture.clientCertificate)""#
    for (certificate, key, field) in [
      (certificate, String(decoding: other, as: UTF8.self), "privateKey"),
      (certificate, String(decoding: locked, as: UTF8.self), "privateKey"),
      (certificate, "no key", "privateKey"), ("no certificate", kit.key, "clientCertificate"),
      (kit.key, kit.key, "clientCertificate"), (certificate + kit.key, kit.key, "clientCertificate"),
    ] {
      let credential =
        #"{"clientCertificate":"\#(Fixture.escaped(certificate))","privateKey":"\#(Fixture.escaped(key))"}"#
      let replies = [
        try fixture.ferry.answer(
          challenge.decision, #"{"disposition":"useCredential","credential":\#(credential)}"#),
        try fixture.ferry.call(
          "PUT", "/v1/sessions/\(session)/credentials",
          #"{"protectionSpace":{\#(space)},"credential":\#(credential)}"#),
      ]
      for reply in replies {
        let pointers = (reply.json["errors"]?.elements ?? []).compactMap { $0["pointer"]?.string }
        #expect(reply.status == 400 && pointers == ["/credential/\(field)"], "\(reply.text)")
        #expect(!reply.text.contains("PRIVATE KEY"))
      }
    }
    #expect(try fixture.ferry.decision(challenge.decision)["state"]?.string == "pending")
    #expect(try fixture.answer(challenge, Fixture.certificate(.client)) == "answered")
    try fixture.expectSuccess(task, challenges: 2)
    let decision = try fixture.ferry.decision(challenge.decision)
    #expect(!decision.text.contains("PRIVATE KEY") && decision.text.contains("BEGIN CERTIFICATE"))
  }
}

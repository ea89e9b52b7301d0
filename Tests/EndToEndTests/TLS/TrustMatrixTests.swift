import JSON
import TestSupport
import Testing

/// Every answer to a server trust challenge, for every kind of task, on HTTP/1.1 and HTTP/2.
@Suite(.serialized, .blocking, .sharing) struct TrustMatrixTests {
  struct Case: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let face: NginxServer.Site
    /// `nil` if the decision expires.
    let answer: String?
    /// `nil` if the task succeeds.
    let error: Int64?
  }
  private typealias Fixture = HandshakeFixture

  private static let cases = [
    Case(testDescription: "trusted", face: .selfSigned, answer: Fixture.trust, error: nil),
    Case(testDescription: "cancelled", face: .selfSigned, answer: Fixture.cancel, error: -999),
    Case(testDescription: "rejected", face: .selfSigned, answer: Fixture.reject, error: -1203),
    Case(testDescription: "by default", face: .selfSigned, answer: Fixture.byDefault, error: -1203),
    Case(testDescription: "unanswered", face: .selfSigned, answer: nil, error: -1203),
    Case(testDescription: "good, trusted", face: .good, answer: Fixture.trust, error: nil),
    Case(testDescription: "good, cancelled", face: .good, answer: Fixture.cancel, error: -999),
    Case(testDescription: "good, rejected", face: .good, answer: Fixture.reject, error: nil),
    Case(testDescription: "good, by default", face: .good, answer: Fixture.byDefault, error: nil),
    Case(testDescription: "good, unanswered", face: .good, answer: nil, error: nil),
  ]

  @Test(arguments: cases, [true, false]) func answerDecidesOutcome(_ example: Case, _ hasHTTP2: Bool) throws {
    let fixture = try HandshakeFixture(hasHTTP2: hasHTTP2)
    let delegate = example.answer == nil ? Fixture.impatient : Fixture.asking
    for kind in Fixture.Kind.allCases {
      let session = try fixture.ferry.session(delegate: delegate)
      let task = try fixture.start(kind, example.face, in: session)
      let challenge = try fixture.challenge(task)
      #expect(challenge.data["protectionSpace"]?["authenticationMethod"]?.string == Fixture.serverTrust)
      if let answer = example.answer { #expect(try fixture.answer(challenge, answer) == "answered") }
      if let error = example.error {
        try fixture.expectFailure(task, error)
      } else {
        try fixture.expectSuccess(task)
      }
      let state = try fixture.ferry.decision(challenge.decision)["state"]?.string
      #expect(state == (example.answer == nil ? "expired" : "answered"))
    }
    let answered = example.error == nil ? Fixture.Kind.allCases.count : 0
    #expect(fixture.nginx.log(atLeast: answered).count == answered)
  }

  /// The next task asks again about a refused server.
  @Test(arguments: Fixture.Kind.allCases) func `refusal is not stored`(_ kind: HandshakeFixture.Kind) throws {
    let fixture = try HandshakeFixture()
    let session = try fixture.ferry.session(delegate: Fixture.asking)
    for answer in [Fixture.reject, Fixture.cancel] {
      let task = try fixture.start(kind, .selfSigned, in: session)
      try fixture.answer(fixture.challenge(task), answer)
      try fixture.expectFailure(task, answer == Fixture.cancel ? -999 : -1203)
    }
    let task = try fixture.start(kind, .selfSigned, in: session)
    try fixture.answer(fixture.challenge(task), Fixture.trust)
    try fixture.expectSuccess(task)
  }

  @Test func `only the credential trust true is accepted`() throws {
    let fixture = try HandshakeFixture()
    let task = try fixture.start(.data, .selfSigned, in: fixture.ferry.session(delegate: Fixture.asking))
    let challenge = try fixture.challenge(task)
    let identity = try Fixture.identity(.client)
    for (credential, pointer) in [
      (#"{"trust":false}"#, "/credential/trust"), ("{}", "/credential/trust"),
      (#"{"trust":"yes"}"#, "/credential/trust"), (#"{"user":"a","password":"b"}"#, "/credential/trust"),
      (identity, "/credential/trust"), (#"{"trust":true,"user":"a"}"#, "/credential/user"),
    ] {
      let reply = try fixture.ferry.answer(
        challenge.decision, #"{"disposition":"useCredential","credential":\#(credential)}"#)
      let pointers = (reply.json["errors"]?.elements ?? []).compactMap { $0["pointer"]?.string }
      #expect(reply.status == 400 && pointers.contains(pointer), "\(credential): \(pointers)")
    }
    #expect(try fixture.ferry.decision(challenge.decision)["state"]?.string == "pending")
    try fixture.answer(challenge, Fixture.trust)
    try fixture.expectSuccess(task)
  }

  /// Apache, over HTTP/2, with an upload.
  @Test func `server trust decision works with Apache`() throws {
    let apache = try ApacheServer()
    let ferry = try FerryProcess()
    let session = try ferry.session(#"{"httpShouldUsePipelining":true}"#, delegate: Fixture.asking)
    let file = try ferry.store(Pattern.bytes(300_000))
    let id = try ferry.create(
      apache.url(.secure, "/open/upload"), kind: "upload", session: session,
      request: #","method":"PUT","body":{"file":"\#(file)"}"#)
    let challenge = try ferry.decisionEvent(of: id, Fixture.event)
    let evaluation = challenge.data["protectionSpace"]?["serverTrust"]?["evaluation"]
    #expect(evaluation?["code"]?.string == "serverCertificateHasUnknownRoot")
    #expect(apache.log().isEmpty)
    try ferry.answer(challenge.decision, Fixture.trust)
    let end = try ferry.end(of: id)
    #expect(end["error"] == .null && end["response"]?["httpVersion"]?.string == "HTTP/2")
    #expect(apache.uploaded("upload") == Pattern.bytes(300_000))
  }
}

import Crypto
import Foundation
import JSON
import TestSupport
import Testing

/// NTLM, which authenticates a connection over several requests that libcurl makes itself.
@Suite(.serialized, .blocking, .sharing) struct NTLMTests {
  private let origin: NTLMOrigin
  private let ferry: FerryProcess
  private static let delegate = #"{"sessionChallenges":"ask","taskChallenges":"ask"}"#
  private static let impatient =
    #"{"sessionChallenges":"ask","taskChallenges":"ask","decisionTimeout":2}"#
  private static let login = Login(
    user: #"\#(NTLMOrigin.domain)\\#(NTLMOrigin.user)"#, password: NTLMOrigin.password)

  init() throws {
    origin = try NTLMOrigin()
    ferry = try .ofSuite()
  }

  private func url(_ shape: ChallengedTask.Shape) -> String {
    origin.url("/ntlm/" + (shape.isUpload ? "put" : "hello.txt"))
  }

  private func checkContents(_ task: ChallengedTask, _ shape: ChallengedTask.Shape, _ at: Comment) throws {
    let body = try task.body()
    guard shape.isUpload else { return #expect(body == NginxServer.contents(5000), at) }
    let reply = try JSONParser.parse(body)
    let digest = SHA256.hash(data: ChallengedTask.upload).map { String(256 + Int($0), radix: 16).dropFirst() }
    #expect(reply["received"]?.integer == Int64(ChallengedTask.upload.count), at)
    #expect(reply["sha256"]?.string == digest.joined(), at)
  }

  /// Returns the status and the NTLM message type of each request. Type 0 means no message.
  private func legs() -> [String] {
    origin.log().map { line in
      let words = line.split(separator: " ")
      let message = words.count > 4 ? Data(base64Encoded: String(words[4])) ?? Data() : Data()
      return "\(words[2]) \(message.count > 8 ? message[8] : 0)"
    }
  }

  private var gatekeeper: ChallengeExpectation {
    get throws {
      ChallengeExpectation(
        event: "session.didReceiveChallenge", method: "NSURLAuthenticationMethodNTLM",
        port: try #require(URL(string: origin.url("/"))?.port), status: 401)
    }
  }

  @Test(arguments: ChallengedTask.Shape.allCases)
  func `session delegate is challenged`(_ shape: ChallengedTask.Shape) throws {
    for play in AnswerScript.all {
      let session = try ferry.session(delegate: play.isSilent ? Self.impatient : Self.delegate)
      let task = try ChallengedTask(ferry, shape, url(shape), session: session)
      try task.perform(play, Self.login, before: gatekeeper)
      let at: Comment = "\(play.testDescription)"
      if play.outcome == .allowed { try checkContents(task, shape, at) }
      // The body is that of the last refusal, not that of an intermediate 401.
      let isDenied = play.answers.contains(.wrong)
      if play.outcome == .refused {
        #expect(try task.body() == Array((isDenied ? "denied\n" : "who are you?\n").utf8), at)
      }
      for event in task.events where event.type == "session.didReceiveChallenge" {
        let fields = event.data["failureResponse"]?["headers"]
        #expect(fields?["WWW-Authenticate"]?.string == "NTLM" || fields?["www-authenticate"] != nil, at)
      }
    }
  }

  @Test func `each attempt is three messages on its own connection`() throws {
    let session = try ferry.session(delegate: Self.delegate)
    let task = try ChallengedTask(ferry, .chunkedStream, url(.stream), session: session)
    try task.perform(AnswerScript(.wrong, .right, to: .allowed), Self.login, before: gatekeeper)
    #expect(legs() == ["401 0", "401 1", "401 3", "401 1", "200 3"])
    // A request of another session does not use the authenticated connection.
    let other = try ferry.run(origin.url("/ntlm/who"), kind: "data", session: try ferry.session())
    #expect(other["response"]?["status"]?.integer == 401)
    #expect(try ferry.run(origin.url("/open"), kind: "data", session: session)["error"] == .null)
    #expect(origin.log().last == "GET /open 200 -")
  }

  /// libcurl 7.88 sends the upload after a refused attempt without its body.
  @Test(arguments: ChallengedTask.Shape.allCases.filter(\.isUpload))
  func `upload after a refused attempt is complete`(_ shape: ChallengedTask.Shape) throws {
    let session = try ferry.session(delegate: Self.delegate)
    for path in ["/open", "/ntlm/put", "/open"] {
      let refused = try ChallengedTask(ferry, shape, url(shape), session: session)
      try refused.perform(AnswerScript(.wrong, .byDefault, to: .refused), Self.login, before: gatekeeper)
      let task = try ChallengedTask(ferry, shape, origin.url(path), session: session)
      if path == "/ntlm/put" {
        try ferry.answer(#require(try task.challenge()).decision, Self.login.answer())
      }
      #expect(try task.end()["response"]?["status"]?.integer == 200)
      try checkContents(task, shape, "\(path)")
    }
  }

  @Test(arguments: ChallengedTask.Shape.allCases)
  func `credential with persistence forSession is reused`(_ shape: ChallengedTask.Shape) throws {
    let session = try ferry.session(delegate: Self.delegate)
    var login = Self.login
    login.persistence = "forSession"
    let first = try ChallengedTask(ferry, .data, url(.data), session: session)
    try ferry.answer(#require(try first.challenge()).decision, login.answer())
    #expect(try first.end()["response"]?["status"]?.integer == 200)
    let second = try ChallengedTask(ferry, shape, url(shape), session: session)
    let end = try second.end()
    #expect(end["error"] == .null && end["response"]?["status"]?.integer == 200)
    #expect(second.count("task.needNewBodyStream") == (shape.isStream ? 1 : 0))
    try checkContents(second, shape, "\(end.text)")
    #expect(legs() == ["401 0", "401 1", "200 3", "401 1", "200 3"])
  }

  /// Default handling tries the stored credential first. The delegate only serves the streams.
  @Test(arguments: [true, false]) func `stored credential is used`(_ isRight: Bool) throws {
    let session = try ferry.session(delegate: "{}")
    let port = try gatekeeper.port
    let space = #"{"host":"127.0.0.1","port":\#(port),"protocol":"http"}"#
    var login = Self.login
    login.persistence = "forSession"
    let entry = #"{"protectionSpace":\#(space),"credential":\#(login.json(isRight: isRight))}"#
    #expect(try ferry.call("PUT", "/v1/sessions/\(session)/credentials", entry).status == 200)
    for shape in ChallengedTask.Shape.allCases {
      let task = try ChallengedTask(ferry, shape, url(shape), session: session)
      let end = try task.end()
      #expect(end["error"] == .null && end["response"]?["status"]?.integer == (isRight ? 200 : 401))
      if isRight { try checkContents(task, shape, "\(shape)") }
    }
  }

  /// A user without its domain is a different user.
  @Test func `domain is part of the user`() throws {
    let session = try ferry.session(delegate: Self.delegate)
    let task = try ChallengedTask(ferry, .data, origin.url("/ntlm/who"), session: session)
    let bare = Login(user: NTLMOrigin.user, password: NTLMOrigin.password)
    try ferry.answer(#require(try task.challenge()).decision, bare.answer())
    let again = try #require(try task.challenge())
    #expect(again.data["proposedCredential"]?["user"]?.string == NTLMOrigin.user)
    #expect(again.data["previousFailureCount"]?.integer == 1)
    try ferry.answer(again.decision, Self.login.answer())
    #expect(try task.end()["response"]?["status"]?.integer == 200)
    #expect(try task.body() == Array(#"FERRY\alice\#n"#.utf8))
  }
}

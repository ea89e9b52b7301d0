import Crypto
import Foundation
import JSON
import TestSupport
import Testing

/// NTLM, which logs in a connection over several legs that libcurl makes by itself.
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

  /// Status and message type (0: none) of each request.
  private func legs() -> [String] {
    origin.log().map { line in
      let words = line.split(separator: " ")
      let message = words.count > 4 ? Data(base64Encoded: String(words[4])) ?? Data() : Data()
      return "\(words[2]) \(message.count > 8 ? message[8] : 0)"
    }
  }

  private var gatekeeper: Gatekeeper {
    get throws {
      Gatekeeper(
        event: "session.didReceiveChallenge", method: "NSURLAuthenticationMethodNTLM",
        port: try #require(URL(string: origin.url("/"))?.port), status: 401)
    }
  }

  @Test(arguments: ChallengedTask.Shape.allCases)
  func theSessionIsAsked(_ shape: ChallengedTask.Shape) throws {
    for play in Play.all {
      let session = try ferry.session(delegate: play.isSilent ? Self.impatient : Self.delegate)
      let task = try ChallengedTask(ferry, shape, url(shape), session: session)
      try task.perform(play, Self.login, before: gatekeeper)
      let at: Comment = "\(play.testDescription)"
      if play.outcome == .allowed { try checkContents(task, shape, at) }
      // The last answer that was a refusal, and never the leg between.
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

  @Test func eachAttemptIsThreeMessagesOnAConnectionOfItsOwn() throws {
    let session = try ferry.session(delegate: Self.delegate)
    let task = try ChallengedTask(ferry, .chunkedStream, url(.stream), session: session)
    try task.perform(Play(.wrong, .right, to: .allowed), Self.login, before: gatekeeper)
    #expect(legs() == ["401 0", "401 1", "401 3", "401 1", "200 3"])
    // Nobody else's request is taken for alice's.
    let other = try ferry.run(origin.url("/ntlm/who"), kind: "data", session: try ferry.session())
    #expect(other["response"]?["status"]?.integer == 401)
    #expect(try ferry.run(origin.url("/open"), kind: "data", session: session)["error"] == .null)
    #expect(origin.log().last == "GET /open 200 -")
  }

  /// libcurl 7.88 sends what follows a refused attempt without its body.
  @Test(arguments: ChallengedTask.Shape.allCases.filter(\.isUpload))
  func theUploadAfterARefusalIsWhole(_ shape: ChallengedTask.Shape) throws {
    let session = try ferry.session(delegate: Self.delegate)
    for path in ["/open", "/ntlm/put", "/open"] {
      let refused = try ChallengedTask(ferry, shape, url(shape), session: session)
      try refused.perform(Play(.wrong, .byDefault, to: .refused), Self.login, before: gatekeeper)
      let task = try ChallengedTask(ferry, shape, origin.url(path), session: session)
      if path == "/ntlm/put" {
        try ferry.answer(#require(try task.challenge()).decision, Self.login.answer())
      }
      #expect(try task.end()["response"]?["status"]?.integer == 200)
      try checkContents(task, shape, "\(path)")
    }
  }

  @Test(arguments: ChallengedTask.Shape.allCases)
  func aCredentialForTheSessionIsUsedUnasked(_ shape: ChallengedTask.Shape) throws {
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

  /// One that is stored is tried first, by default handling: the delegate is there for the streams alone.
  @Test(arguments: [true, false]) func aStoredCredentialIsUsed(_ isRight: Bool) throws {
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

  /// A user without the domain is another one, and a second attempt starts anew.
  @Test func theDomainIsPartOfTheUser() throws {
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

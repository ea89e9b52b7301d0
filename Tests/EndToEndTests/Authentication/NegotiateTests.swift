import Foundation
import JSON
import TestSupport
import Testing

/// Negotiate with a real Kerberos realm. The process's ticket or keytab is used without a challenge. Without them, the
/// delegate is asked.
@Suite(.serialized, .blocking) struct NegotiateTests {
  private let realm: KerberosRealm
  private let apache: ApacheServer
  private static let delegate = #"{"sessionChallenges":"ask","taskChallenges":"ask"}"#
  private static let impatient =
    #"{"sessionChallenges":"ask","taskChallenges":"ask","decisionTimeout":2}"#
  private static let login = Login(user: KerberosRealm.user, password: KerberosRealm.password)

  init() throws {
    realm = try KerberosRealm()
    apache = try ApacheServer(kerberos: realm)
  }

  private func url(_ shape: ChallengedTask.Shape, _ name: String = "put") -> String {
    apache.url(.plain, "/kerberos/" + (shape.isUpload ? name : "hello.txt"))
  }

  private func checkContents(_ task: ChallengedTask, _ shape: ChallengedTask.Shape, _ at: Comment) throws {
    if shape.isUpload {
      #expect(apache.uploaded("put") == ChallengedTask.upload, at)
    } else {
      #expect(try task.body() == NginxServer.contents(5000), at)
    }
  }

  /// Returns the status of each request, and whether it had a token.
  private func attempts(atLeast count: Int) -> [String] {
    apache.log(atLeast: count).map { line in
      let words = line.split(separator: " ")
      return "\(words[2]) \(words[3] == "Negotiate" ? "token" : "-")"
    }
  }

  enum Source: String, CaseIterable, Sendable { case ticket, keytab }

  @Test(arguments: Source.allCases, ChallengedTask.Shape.allCases)
  func `ticket or keytab is used with no challenge`(_ source: Source, _ shape: ChallengedTask.Shape) throws {
    let ferry = try FerryProcess(environment: source == .ticket ? realm.withTicket() : realm.withKeytab())
    let session = try ferry.session(FerryProcess.uncached, delegate: Self.delegate)
    for round in 1...2 {
      let task = try ChallengedTask(ferry, shape, url(shape), session: session)
      let end = try task.end()
      let at: Comment = "round \(round): \(end.text)"
      #expect(
        end["error"] == .null && end["response"]?["status"]?.integer == (shape.isUpload ? 201 : 200), at)
      #expect(task.count("dataTask.didReceiveResponse") == (shape == .download ? 0 : 1), at)
      #expect(task.count("task.needNewBodyStream") == (shape.isStream ? round == 1 ? 2 : 1 : 0), at)
      try checkContents(task, shape, at)
    }
    // From the second task on, the first request has the token.
    let status = shape.isUpload ? 201 : 200
    #expect(attempts(atLeast: 3) == ["401 -", "\(status) token", "\(status) token"])
    #expect(realm.log().contains { $0.contains("\(KerberosRealm.client) for HTTP/localhost") })
  }

  @Test(arguments: ChallengedTask.Shape.allCases)
  func `session delegate is challenged without a ticket`(_ shape: ChallengedTask.Shape) throws {
    let ferry = try FerryProcess(environment: realm.environment)
    let gatekeeper = ChallengeExpectation(
      event: "session.didReceiveChallenge", method: "NSURLAuthenticationMethodNegotiate", host: "localhost",
      port: try #require(URL(string: url(shape))?.port), status: 401, seesWrongOnes: false)
    for play in AnswerScript.all {
      let session = try ferry.session(delegate: play.isSilent ? Self.impatient : Self.delegate)
      let task = try ChallengedTask(ferry, shape, url(shape), session: session)
      try task.perform(play, Self.login, before: gatekeeper)
      if play.outcome == .allowed { try checkContents(task, shape, "\(play.testDescription)") }
      if play.outcome == .refused { #expect(try !task.body().isEmpty) }
    }
    let isRight = attempts(atLeast: AnswerScript.all.count + 2).map { $0.hasSuffix("token") }
    #expect(isRight.count == AnswerScript.all.count + 2 && isRight.filter { $0 }.count == 2)
  }

  @Test func `task delegate is challenged if the session does not ask`() throws {
    let ferry = try FerryProcess(environment: realm.environment)
    let session = try ferry.session(delegate: #"{"taskChallenges":"ask"}"#)
    let task = try ChallengedTask(ferry, .data, url(.data), session: session)
    let event = try #require(try task.challenge())
    #expect(event.type == "task.didReceiveChallenge")
    try ferry.answer(event.decision, Self.login.answer())
    #expect(try task.end()["response"]?["status"]?.integer == 200)
  }

  /// Without a delegate or a stored credential, the 401 is the response.
  @Test func `401 is the response without a delegate`() throws {
    let ferry = try FerryProcess(environment: realm.environment)
    let end = try ferry.run(url(.data), kind: "data")
    #expect(end["error"] == .null && end["response"]?["status"]?.integer == 401)
    #expect(attempts(atLeast: 1) == ["401 -"])
  }

  @Test func `credential with persistence forSession is reused`() throws {
    let ferry = try FerryProcess(environment: realm.environment)
    let session = try ferry.session(delegate: Self.delegate)
    let first = try ChallengedTask(ferry, .data, url(.data), session: session)
    var login = Self.login
    login.persistence = "forSession"
    try ferry.answer(#require(try first.challenge()).decision, login.answer())
    #expect(try first.end()["response"]?["status"]?.integer == 200)
    let second = try ChallengedTask(ferry, .chunkedStream, url(.stream), session: session)
    #expect(try second.end()["response"]?["status"]?.integer == 201)
    #expect(apache.uploaded("put") == ChallengedTask.upload)
    #expect(attempts(atLeast: 3) == ["401 -", "200 token", "201 token"])
    let stored = try ferry.call("GET", "/v1/sessions/\(session)/credentials")
    #expect(stored.json["items"]?.elements?.first?["credential"]?["user"]?.string == KerberosRealm.user)
    #expect(!stored.text.contains(KerberosRealm.password))
  }

  /// A rejected protection space leads to the next offered scheme, with a challenge of its own.
  @Test func `rejected protection space leads to the next scheme`() throws {
    let origin = TestOrigin { request, socket in
      guard request["Authorization"] == nil else { return try Self.write("200 OK", [], socket) }
      return try Self.write(
        "401 No",
        [("WWW-Authenticate", "Negotiate"), ("WWW-Authenticate", #"NTLM, Basic realm="b""#)], socket)
    }
    let ferry = try FerryProcess(environment: realm.environment)
    let session = try ferry.session(delegate: Self.delegate)
    let task = try ChallengedTask(ferry, .data, origin.url + "/", session: session)
    for method in ["Negotiate", "NTLM"] {
      let event = try #require(try task.challenge())
      let space = event.data["protectionSpace"]
      #expect(event.type == "session.didReceiveChallenge" && space?["realm"]?.string == nil)
      #expect(space?["authenticationMethod"]?.string == "NSURLAuthenticationMethod\(method)")
      try ferry.answer(event.decision, #"{"disposition":"rejectProtectionSpace"}"#)
    }
    let event = try #require(try task.challenge())
    #expect(event.type == "task.didReceiveChallenge" && event.data["previousFailureCount"]?.integer == 0)
    #expect(event.data["protectionSpace"]?["realm"]?.string == "b")
    try ferry.answer(event.decision, Login(user: "u", password: "p").answer())
    #expect(try task.end()["response"]?["status"]?.integer == 200)
    #expect(origin.requests.map { $0["Authorization"] } == [nil, "Basic dTpw"])
  }

  private static func write(_ status: String, _ fields: [(String, String)], _ socket: Socket) throws -> Bool {
    try socket.write(TestOrigin.reply(status, Array("body".utf8), fields))
    return true
  }

  /// The GSSAPI library waits for the KDC on a thread of its own.
  @Test func `unresponsive KDC does not delay other tasks`() throws {
    let ferry = try FerryProcess(environment: realm.environment)
    let session = try ferry.session(delegate: Self.delegate)
    let tasks = try (0..<4).map { _ in try ChallengedTask(ferry, .data, url(.data), session: session) }
    let questions = try tasks.map { try #require(try $0.challenge()).decision }
    realm.pause()
    defer { realm.resume() }
    for question in questions { try ferry.answer(question, Self.login.answer()) }
    for session in [session, "ses_shared"] {
      for _ in 0..<2 {
        let other = try ferry.run(apache.url(.plain, "/open/hello.txt"), session: session)
        #expect(other["response"]?["status"]?.integer == 200)
      }
    }
    // The waiting tasks are still running, so no other task waited for the KDC. They can be cancelled.
    for task in tasks { #expect(try ferry.task(task.id)["state"]?.string == "running") }
    #expect(try ferry.act("cancel", tasks[0].id) == "canceling")
    realm.resume()
    for task in tasks {
      // On a busy machine the library may have given up on the KDC, and then the delegate is asked again.
      while let again = try task.challenge() { _ = try ferry.answer(again.decision, Self.login.answer()) }
    }
    #expect(try ferry.task(tasks[0].id).errorCode == -999)
    for task in tasks[1...] { #expect(try ferry.task(task.id)["response"]?["status"]?.integer == 200) }
  }
}

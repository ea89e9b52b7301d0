import Foundation
import JSON
import TestSupport
import Testing

/// A login challenge as a decision: its answers, its attempts, and its end if the task is cancelled or suspended.
@Suite(.serialized, .blocking, .sharing) struct LoginDecisionTests {
  private let ferry: FerryProcess
  private let session: String
  private static let right = LoginAnswer.use("alice", "s3cret")
  private static let wrong = LoginAnswer.use("alice", "wrong-s3cret")
  private let origin = TestOrigin { request, socket in
    let good = "Basic " + Data("alice:s3cret".utf8).base64EncodedString()
    if request["Authorization"] == good {
      try socket.write(TestOrigin.reply("200 OK", Array("in".utf8)))
    } else {
      let fields = [("WWW-Authenticate", "Basic realm=\"r\"")]
      try socket.write(TestOrigin.reply("401 Unauthorized", Array("out".utf8), fields))
    }
    return true
  }

  init() throws {
    ferry = try .ofSuite(options: ["--maximum-authentication-attempts", "3"])
    session = try ferry.session(delegate: FerryProcess.asksForLogin)
  }

  private func create(kind: String = "data") throws -> String {
    try ferry.create(origin.url + "/", kind: kind, session: session)
  }

  // MARK: Attempts

  @Test(arguments: ["data", "download"]) func `task fails after three wrong answers`(_ kind: String) throws {
    let id = try create(kind: kind)
    var sequence: Int64 = 0
    for failures in 0..<3 {
      let event = try ferry.challengeEvent(of: id, after: sequence)
      sequence = event.id ?? 0
      #expect(event.data["previousFailureCount"]?.integer == Int64(failures))
      try ferry.answer(event.decision, LoginAnswer.use("alice", "wrong \(failures)"))
    }
    let story = try ferry.story(of: id)
    #expect(story.filter { $0.type == "task.didReceiveChallenge" }.count == 3)
    #expect(!story.contains { $0.type.hasSuffix("didReceiveResponse") || $0.type.hasSuffix("Downloading") })
    let task = try ferry.task(id)
    let error = task["error"]
    #expect(error?["domain"]?.string == "FerryErrorDomain" && error?["code"]?.integer == 4)
    #expect(error?["name"]?.string == "attemptLimitReached")
    #expect(error?["failingURL"]?.string == origin.url + "/" && task["body"] == .null)
    #expect(origin.requests.count == 4)
  }

  @Test func `last allowed attempt may succeed`() throws {
    let answers = [Self.wrong, LoginAnswer.use("bob", "x"), Self.right]
    let task = try ferry.run(origin.url + "/", in: session, answers: answers)
    #expect(task.status == 200 && task["error"] == .null && origin.requests.count == 4)
  }

  // MARK: Answers

  @Test func `second different answer is refused and passwords stay hidden`() throws {
    let id = try create()
    let decision = try ferry.challengeEvent(of: id).decision
    let first = try ferry.answer(decision, Self.right)
    #expect(first.status == 200 && first.json["state"]?.string == "answered")
    _ = try ferry.end(of: id)
    #expect(try ferry.answer(decision, Self.right).status == 200)
    for other in [Self.wrong, LoginAnswer.use("bob", "s3cret"), LoginAnswer.reject, LoginAnswer.cancel] {
      let reply = try ferry.answer(decision, other)
      #expect(reply.status == 409 && reply.json["type"]?.string == "/problems/decision-settled")
    }
    let answer = try ferry.decision(decision)["answer"]
    #expect(answer?["disposition"]?.string == "useCredential")
    #expect(answer?["credential"]?["user"]?.string == "alice")
    let list = try ferry.call("GET", "/v1/sessions/\(session)/decisions").text
    let story = try ferry.story(of: id).map(\.json.text).joined()
    for text in [answer?.text ?? "", list, story, first.text] { #expect(!text.contains("s3cret")) }
  }

  private static let malformed = [
    ("{}", "/disposition"), (#"{"disposition":"allow"}"#, "/disposition"),
    (#"{"disposition":"useCredential","credential":{"user":"a"}}"#, "/credential/password"),
    (#"{"disposition":"useCredential","credential":{"password":"a"}}"#, "/credential/user"),
    (#"{"disposition":"useCredential","credential":{}}"#, "/credential/user"),
    (#"{"disposition":"useCredential","credential":{"trust":true}}"#, "/credential/user"),
    (
      #"{"disposition":"useCredential","credential":{"user":"a","password":"b","persistence":"ever"}}"#,
      "/credential/persistence"
    ),
    (#"{"disposition":"rejectProtectionSpace","credential":{"user":"a","password":"b"}}"#, "/credential"),
    (#"{"disposition":"performDefaultHandling","request":null}"#, "/request"),
  ]

  @Test func `malformed answer leaves the decision pending`() throws {
    let id = try create()
    let decision = try ferry.challengeEvent(of: id).decision
    for (answer, pointer) in Self.malformed {
      let reply = try ferry.answer(decision, answer)
      let pointers = (reply.json["errors"]?.elements ?? []).compactMap { $0["pointer"]?.string }
      #expect(reply.status == 400 && pointers.contains(pointer), "\(answer): \(pointers)")
    }
    #expect(try ferry.decision(decision)["state"]?.string == "pending")
    #expect(try ferry.answer(decision, Self.right).status == 200)
    #expect(try ferry.end(of: id).status == 200)
  }

  // MARK: Endpoints

  /// An endpoint as delegate that answers challenges only.
  private static func hook(_ answer: String) -> TestOrigin {
    TestOrigin { request, socket in
      let type = (try? JSONParser.parse(request.body))?["type"]?.string
      let asks = type == "task.didReceiveChallenge"
      try socket.write(TestOrigin.reply(asks ? "200 OK" : "204 No Content", asks ? Array(answer.utf8) : []))
      return true
    }
  }

  @Test(arguments: ["data", "download"]) func `endpoint answers the challenge`(_ kind: String) throws {
    for (answer, status, code) in [
      (right, 200, nil), (LoginAnswer.reject, 401, nil), (LoginAnswer.cancel, nil, -999),
    ] as [(String, Int64?, Int64?)] {
      let hook = Self.hook(answer)
      let session = try ferry.session(
        delegate: #"{"sessionChallenges":"default","taskChallenges":"ask","#
          + #""webhook":{"url":"\#(hook.url)/d","events":[],"answers":true}}"#)
      let task = try ferry.end(of: ferry.create(origin.url + "/", kind: kind, session: session))
      #expect(task.status == status && task.errorCode == code)
      let told = hook.requests.compactMap { try? JSONParser.parse($0.body) }
      #expect(told.count == 1 && told[0]["data"]?["protectionSpace"]?["realm"]?.string == "r")
      #expect(told[0]["data"]?["taskId"]?.string == task.id)
    }
  }

  private var right: String { Self.right }

  /// A completion handler replaces the delegate's events, but not its challenges (as in URLSession).
  @Test func `task with a completion handler is challenged`() throws {
    let hook = Self.hook("")
    let body =
      #"{"kind":"data","resume":true,"request":{"url":"\#(origin.url)/"},"#
      + #""completion":{"webhook":{"url":"\#(hook.url)/done"}}}"#
    let id = try ferry.call("POST", "/v1/sessions/\(session)/tasks", body).json.id
    try ferry.answer(ferry.challengeEvent(of: id).decision, Self.right)
    #expect(try ferry.end(of: id).status == 200)
    Patience.wait { hook.requests.isEmpty }
    let told = hook.requests.compactMap { try? JSONParser.parse($0.body) }
    #expect(told.map { $0["type"]?.string } == ["task.didComplete"])
    #expect(told.first?["data"]?["task"]?["response"]?["status"]?.integer == 200)
  }

  // MARK: Cancelled and suspended tasks

  @Test(arguments: ["data", "download"]) func `cancelled task withdraws its decision`(_ kind: String) throws {
    let id = try create(kind: kind)
    let decision = try ferry.challengeEvent(of: id).decision
    #expect(try ferry.act("cancel", id) == "canceling")
    let task = try ferry.end(of: id)
    #expect(task.errorCode == -999 && task["response"] == .null && task["body"] == .null)
    #expect(try ferry.decision(decision)["state"]?.string == "withdrawn")
    #expect(try ferry.answer(decision, Self.right).status == 409)
    #expect(origin.requests.count == 1)
  }

  /// The suspended task accepts the answer, but sends nothing before it is resumed.
  @Test func `suspended task accepts the answer and waits`() throws {
    let id = try create()
    let decision = try ferry.challengeEvent(of: id).decision
    #expect(try ferry.act("suspend", id) == "suspended")
    #expect(try ferry.answer(decision, Self.right).status == 200)
    try ferry.waitForEarlierCommands(origin.url + "/settled")
    #expect(origin.requests.map(\.path) == ["/", "/settled"])
    #expect(try ferry.task(id)["state"]?.string == "suspended")
    #expect(try ferry.act("resume", id) == "running")
    #expect(try ferry.end(of: id).status == 200)
    #expect(try ferry.body(of: id) == Array("in".utf8))
    #expect(origin.requests.map(\.path) == ["/", "/settled", "/"])
  }

  @Test func `resumed task keeps its decision pending`() throws {
    let id = try create()
    let decision = try ferry.challengeEvent(of: id).decision
    for verb in ["suspend", "resume"] { _ = try ferry.act(verb, id) }
    #expect(try ferry.decision(decision)["state"]?.string == "pending")
    #expect(try ferry.answer(decision, LoginAnswer.reject).status == 200)
    #expect(try ferry.end(of: id).status == 401)
    #expect(try ferry.body(of: id) == Array("out".utf8))
  }

  @Test func `invalidated session cancels tasks with open decisions`() throws {
    let tasks = try [create(), create(kind: "download")]
    let decisions = try tasks.map { try ferry.challengeEvent(of: $0).decision }
    let events = try ferry.events("/v1/sessions/\(session)/events?after=0")
    #expect(try ferry.invalidate(session).status == 202)
    let story = try events.read(upTo: "session.didBecomeInvalid")
    let ended = story.filter { $0.type == "task.didComplete" }
    #expect(Set(ended.compactMap(\.task)) == Set(tasks))
    #expect(ended.allSatisfy { $0.data["error"]?["code"]?.integer == -999 })
    for decision in decisions { #expect(try ferry.answer(decision, Self.right).status >= 400) }
    #expect(origin.requests.count == 2)
  }
}

extension FerryProcess {
  /// Like `invalidateAndCancel()`.
  fileprivate func invalidate(_ session: String) throws -> HTTPReply {
    try call("POST", "/v1/sessions/\(session)/invalidate", #"{"mode":"cancelTasks"}"#)
  }
}

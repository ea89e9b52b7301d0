import Foundation
import JSON
import TestSupport
import Testing

/// `earliestBeginDate`, the decision about the delayed request, and changes to a waiting task.
@Suite(.serialized, .blocking, .sharing) struct DelayedRequestTests {
  private static let asked = "task.willBeginDelayedRequest"
  private let place: InProcessAPI
  private let session: String
  private let origin = TestOrigin { request, socket in
    try socket.write(TestOrigin.reply("200 OK", Array((request.method + request.path).utf8) + request.body))
    return true
  }

  init() throws {
    place = try .ofSuite()
    session = try place.session(delegate: #"{"delayedRequests":"ask"}"#)
  }

  /// Creates a task whose earliest begin date is this number of seconds from now.
  private func create(
    in seconds: Double, session: String = "ses_shared", request: String = "", resume: Bool = true
  ) throws -> String {
    let reply = try place.call(
      "POST", "/v1/sessions/\(session)/tasks",
      #"{"kind":"data","resume":\#(resume),"earliestBeginDate":"\#(Self.date(in: seconds))","#
        + #""request":{"url":"\#(origin.url)/first"\#(request)}}"#)
    #expect(reply.status == 201)
    return reply.json.id
  }

  private static func date(in seconds: Double) -> String {
    Date().addingTimeInterval(seconds).ISO8601Format(.init(includingFractionalSeconds: true))
  }

  private func patch(
    _ id: String, _ body: String, _ fields: [(String, String)] = []
  ) throws -> HTTPReply { try place.call("PATCH", "/v1/tasks/\(id)", body, fields) }

  private func body(of id: String) throws -> String { try place.call("GET", "/v1/tasks/\(id)/body").text }

  // MARK: The date

  @Test func `task begins at its begin date and emits the event`() throws {
    let start = Date()
    let id = try create(in: 0.8)
    let waiting = try place.task(id)
    #expect(waiting["state"]?.string == "running" && waiting["phase"]?.string == "queued")
    let story = try place.story(of: id)
    #expect(Date().timeIntervalSince(start) >= 0.79)
    let types = story.map(\.type)
    #expect(types.filter { $0 == Self.asked }.count == 1)
    let begin = try #require(types.firstIndex(of: Self.asked))
    #expect(story[begin].data["request"]?["url"]?.string == origin.url + "/first")
    #expect(story[begin].data["decisionId"] == nil)
    #expect(!story[..<begin].contains { $0.data["phase"]?.string == "transferring" })
    #expect(try body(of: id) == "GET/first")
  }

  @Test func `past begin date delays nothing`() throws {
    let id = try create(in: -3600)
    #expect(try place.end(of: id)["error"] == .null)
  }

  @Test func `task suspended past its begin date begins when resumed`() throws {
    let id = try create(in: 1)
    let other = try create(in: 1.2)
    #expect(try place.act("suspend", id) == "suspended")
    _ = try place.end(of: other)  // the begin date of the first task is over
    #expect(try place.task(id)["state"]?.string == "suspended" && origin.requests.count == 1)
    #expect(try place.act("resume", id) == "running")
    #expect(try place.end(of: id)["error"] == .null)
    #expect(origin.requests.count == 2)
  }

  @Test func `task resumed before its begin date waits for it`() throws {
    let start = Date()
    let id = try create(in: 0.5, resume: false)
    #expect(try place.act("resume", id) == "running")
    #expect(try place.end(of: id)["error"] == .null)
    #expect(Date().timeIntervalSince(start) >= 0.49 && origin.requests.count == 1)
  }

  @Test func `task is cancelled before its begin date`() throws {
    let (id, other) = (try create(in: 1), try create(in: 1.2))
    #expect(["canceling", "completed"].contains(try place.act("cancel", id) ?? ""))
    let story = try place.story(of: id)
    #expect(try place.task(id).errorCode == -999 && !story.contains { $0.type == Self.asked })
    _ = try place.end(of: other)
    #expect(origin.requests.count == 1)
  }

  // MARK: The delegate

  /// The answer to the delayed request, and the request that results.
  @Test(arguments: [
    ("continueLoading", "", "POST/firsthello"),
    ("useNewRequest", #","request":{"url":"$url/second"}"#, "GET/second"),
    (
      "useNewRequest", #","request":{"url":"$url/second","method":"PUT","body":{"size":5}}"#,
      "PUT/secondhello"
    ),
  ])
  func `delegate decides the request`(_ disposition: String, _ request: String, _ expected: String) throws {
    let id = try create(in: 0.3, session: session, request: #","method":"POST","body":{"text":"hello"}"#)
    let event = try place.decisionEvent(of: id, Self.asked)
    #expect(event.data["default"]?.string == "continue" && origin.requests.isEmpty)
    #expect(event.data["request"]?["body"]?["size"]?.integer == 5)
    #expect(try place.task(id)["phase"]?.string == "waitingForDecision")
    let members = request.split(separator: "$url").joined(separator: origin.url)
    let reply = try place.answer(event.decision, #"{"disposition":"\#(disposition)"\#(members)}"#)
    #expect(reply.status == 200)
    let end = try place.end(of: id)
    #expect(end["error"] == .null && origin.requests.count == 1)
    #expect(try body(of: id) == expected)
    #expect(end["originalRequest"]?["url"]?.string == origin.url + "/first")
    #expect(end["currentRequest"]?["url"]?.string == origin.url + origin.requests[0].path)
  }

  @Test func `delegate cancels a delayed request`() throws {
    let id = try create(in: 0.3, session: session)
    let event = try place.decisionEvent(of: id, Self.asked)
    #expect(try place.answer(event.decision, #"{"disposition":"cancel"}"#).status == 200)
    #expect(try place.end(of: id).errorCode == -999 && origin.requests.isEmpty)
  }

  @Test func `expired decision sends the delayed request unchanged`() throws {
    let hasty = try place.session(delegate: #"{"delayedRequests":"ask","decisionTimeout":0.5}"#)
    let id = try create(in: 0.3, session: hasty)
    let decision = try place.decisionEvent(of: id, Self.asked).decision
    #expect(try place.end(of: id)["error"] == .null && origin.requests.count == 1)
    #expect(try place.decision(decision)["state"]?.string == "expired")
  }

  @Test(arguments: [true, false])
  func `delayed request needs both the resume and the answer`(_ answersFirst: Bool) throws {
    let id = try create(in: 0.2, session: session)
    let decision = try place.decisionEvent(of: id, Self.asked).decision
    #expect(try place.act("suspend", id) == "suspended")
    func answer() throws {
      #expect(try place.answer(decision, #"{"disposition":"continueLoading"}"#).status == 200)
    }
    if answersFirst { try answer() } else { #expect(try place.act("resume", id) == "running") }
    try place.waitForEarlierCommands(origin.url + "/ok")
    #expect(origin.requests.map(\.path) == ["/ok"])
    #expect(try place.task(id)["phase"]?.string == (answersFirst ? nil : "waitingForDecision"))
    if answersFirst { #expect(try place.act("resume", id) == "running") } else { try answer() }
    #expect(try place.end(of: id)["error"] == .null && origin.requests.count == 2)
  }

  @Test func `task is cancelled during the decision about a delayed request`() throws {
    let cancelled = try create(in: 0.2, session: session)
    let open = try place.decisionEvent(of: cancelled, Self.asked).decision
    _ = try place.act("cancel", cancelled)
    #expect(try place.end(of: cancelled).errorCode == -999)
    #expect(try place.decision(open)["state"]?.string == "withdrawn")
  }

  @Test func `malformed answer about a delayed request names the field`() throws {
    let id = try create(in: 0.2, session: session)
    let decision = try place.decisionEvent(of: id, Self.asked).decision
    for (answer, pointer) in [
      ("{}", "/disposition"), (#"{"disposition":"allow"}"#, "/disposition"),
      (#"{"disposition":"useNewRequest"}"#, "/request"),
      (#"{"disposition":"useNewRequest","request":{"url":""}}"#, "/request/url"),
      (#"{"disposition":"continueLoading","request":{"url":"http://h/"}}"#, "/request"),
    ] {
      let reply = try place.answer(decision, answer)
      let pointers = (reply.json["errors"]?.elements ?? []).compactMap { $0["pointer"]?.string }
      #expect(reply.status == 400 && pointers.contains(pointer), "\(answer): \(pointers)")
    }
    #expect(try place.answer(decision, #"{"disposition":"cancel"}"#).status == 200)
  }

  // MARK: Changing a task

  @Test func `changed begin date takes effect`() throws {
    for body in [#"{"earliestBeginDate":null}"#, #"{"earliestBeginDate":"\#(Self.date(in: 0.2))"}"#] {
      let id = try create(in: 3600)
      #expect(try place.task(id)["earliestBeginDate"]?.string != nil)
      #expect(try patch(id, body).status == 200)
      #expect(try place.end(of: id)["error"] == .null)
    }
    let later = try create(in: 1)
    #expect(try patch(later, #"{"earliestBeginDate":"\#(Self.date(in: 3600))"}"#).status == 200)
    _ = try place.end(of: create(in: 1.2))
    #expect(try place.task(later)["state"]?.string == "running" && origin.requests.count == 3)
    // A suspended task stays suspended.
    let suspended = try create(in: 3600, resume: false)
    #expect(try patch(suspended, #"{"earliestBeginDate":null}"#).json["state"]?.string == "suspended")
  }

  @Test func `only the changeable members of a task can be patched`() throws {
    let id = try create(in: 3600)
    let changed = try patch(id, #"{"priority":0.75,"description":"mine"}"#)
    #expect(changed.json["priority"]?.double == 0.75 && changed.json["description"]?.string == "mine")
    #expect(try patch(id, #"{"description":null}"#).json["description"] == .null)
    #expect(try place.task(id)["priority"]?.double == 0.75)
    #expect(
      try patch(id, #"{"priority":null}"#).json["priority"]?.double == 0.5,
      "null restores the default priority")
    for (body, pointer) in [
      (#"{"state":"completed"}"#, "/state"), (#"{"kind":"data"}"#, "/kind"),
      (#"{"priority":1.5}"#, "/priority"),
      (#"{"earliestBeginDate":"soon"}"#, "/earliestBeginDate"), (#"{"description":5}"#, "/description"),
      (#"{"colour":1}"#, "/colour"), ("[]", ""),
    ] {
      let reply = try patch(id, body)
      let pointers = (reply.json["errors"]?.elements ?? []).compactMap { $0["pointer"]?.string }
      #expect(reply.status == 400 && pointers.contains(pointer), "\(body): \(pointers)")
    }
    #expect(try patch("tsk_0198c0de-0000-7000-8000-000000000000", "{}").status == 404)
    #expect(try patch(id, "x", [("Content-Type", "text/plain")]).status == 415)
  }

  @Test func `patch honours If Match`() throws {
    let id = try create(in: 3600)
    let tag = try #require(try place.call("GET", "/v1/tasks/\(id)")["ETag"])
    let changed = try patch(id, #"{"priority":0.1}"#, [("If-Match", tag)])
    #expect(changed.status == 200)
    #expect(try patch(id, #"{"priority":0.9}"#, [("If-Match", tag)]).status == 412)
    #expect(try place.task(id)["priority"]?.double == 0.1)
    let next = try #require(changed["ETag"])
    #expect(next != tag)
    #expect(try patch(id, #"{"priority":0.9}"#, [("If-Match", next)]).status == 200)
    #expect(try patch(id, #"{"priority":0.8}"#, [("If-Match", "*")]).status == 200)
  }
}

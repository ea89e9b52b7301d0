import JSON
import TestSupport
import Testing

/// An HTTP endpoint as delegate: the JSON of its 2xx reply is the answer.
@Suite(.serialized, .blocking, .sharing) struct WebhookAnswerTests {
  private let ferry: FerryProcess
  private let origin = TestOrigin { request, socket in
    switch request.path {
    case "/hop":
      try socket.write(TestOrigin.reply("302 Found", Array("redirect".utf8), [("Location", "/target")]))
    default: try socket.write(TestOrigin.reply("200 OK", Array(request.path.utf8)))
    }
    return true
  }

  init() throws { ferry = try .ofSuite() }

  private static let redirect = "task.willPerformHTTPRedirection"
  private static let response = "dataTask.didReceiveResponse"

  /// Returns an endpoint that sends `reply` to calls of that type, and 204 to all others. `$url` in the reply stands
  /// for `url`.
  private static func delegate(
    _ url: String, _ type: String, _ status: String, _ reply: String
  ) -> TestOrigin {
    let body = reply.split(separator: "$url").joined(separator: url)
    return TestOrigin { request, socket in
      let asks = (try? JSONParser.parse(request.body))?["type"]?.string == type
      try socket.write(asks ? TestOrigin.reply(status, Array(body.utf8)) : TestOrigin.reply("204 No Content"))
      return true
    }
  }

  private func session(_ hook: TestOrigin, asking calls: [String], timeout: Double = 60) throws -> String {
    let asks = calls.map { $0 == Self.redirect ? #""redirects":"ask""# : #""responses":"ask""# }
    return try ferry.session(
      delegate: #"{\#(asks.joined(separator: ",")),"decisionTimeout":\#(timeout),"#
        + #""webhook":{"url":"\#(hook.url)/d","events":[],"answers":true}}"#)
  }

  /// The endpoint's reply to a call, and the task's outcome.
  struct Reply: Sendable, CustomTestStringConvertible {
    let type: String
    let reply: String
    let status: Int64?
    /// `nil` if the task was cancelled.
    let body: String?
    var testDescription: String { "\(type): \(reply)" }
  }

  private static let replies = [
    Reply(type: redirect, reply: #"{"request":{"url":"$url/other"}}"#, status: 200, body: "/other"),
    Reply(type: redirect, reply: #"{"request":null}"#, status: 302, body: "redirect"),
    Reply(type: response, reply: #"{"disposition":"allow"}"#, status: 200, body: "/target"),
    Reply(type: response, reply: #"{"disposition":"cancel"}"#, status: 200, body: nil),
  ]

  @Test(arguments: replies, ["200 OK", "201 Created"])
  func `reply of the endpoint is the answer`(_ reply: Reply, _ status: String) throws {
    let hook = Self.delegate(origin.url, reply.type, status, reply.reply)
    let session = try session(hook, asking: [reply.type])
    let id = try ferry.create(origin.url + "/hop", session: session)
    let story = try ferry.story(of: id)
    let end = try ferry.task(id)
    #expect(end["response"]?["status"]?.integer == reply.status)
    #expect(end.errorCode == (reply.body == nil ? -999 : nil))
    if let body = reply.body { #expect(try ferry.call("GET", "/v1/tasks/\(id)/body").text == body) }
    let asked = try #require(story.first { $0.type == reply.type })
    let decision = try ferry.decision(asked.decision)
    #expect(decision["state"]?.string == "answered")
    // The endpoint received the event of the stream once.
    let messages = hook.requests.compactMap { try? JSONParser.parse($0.body) }
    let told = messages.filter { $0["type"]?.string == reply.type }
    #expect(told.count == 1 && told[0]["data"]?["decisionId"]?.string == asked.decision)
    #expect(told[0]["data"]?["taskId"]?.string == id && told[0]["data"]?["default"] == asked.data["default"])
    #expect(told[0]["data"]?["response"] == asked.data["response"])
  }

  @Test func `response becomes a download by the answer`() throws {
    let hook = Self.delegate(origin.url, Self.response, "200 OK", #"{"disposition":"becomeDownload"}"#)
    let id = try ferry.create(origin.url + "/file", session: session(hook, asking: [Self.response]))
    let task = try ferry.poll("/v1/tasks/\(id)") { $0["downloadTaskId"]?.string != nil }
    let download = task["downloadTaskId"]?.string ?? ""
    #expect(try ferry.end(of: download)["error"] == .null)
    #expect(try ferry.call("GET", "/v1/tasks/\(download)/body").text == "/file")
    #expect(hook.requests.count == 1)
  }

  /// An answer that cannot be applied leads to the default at once, and to an event that says why.
  @Test(arguments: [
    ("thank you", "not JSON"), ("{}", "/"), (#"{"disposition":"allow"}"#, "/disposition"),
    (#"{"request":{"url":"nowhere"}}"#, "/request/url"),
  ])
  func `invalid answer leads to the default`(_ reply: String, _ reason: String) throws {
    let hook = Self.delegate(origin.url, Self.redirect, "200 OK", reply)
    let id = try ferry.create(origin.url + "/hop", session: session(hook, asking: [Self.redirect]))
    let story = try ferry.story(of: id)
    let rejected = try #require(story.first { $0.type == "decision.answerWasRejected" })
    #expect(rejected.data["reason"]?.string?.contains(reason) == true)
    #expect(try ferry.decision(rejected.decision)["state"]?.string == "expired")
    #expect(try ferry.task(id)["response"]?["status"]?.integer == 200)
    withExtendedLifetime(hook) {}
  }

  /// The endpoint replies after the decision has expired.
  @Test func `late answer is reported`() throws {
    let (answers, ends) = (Gate(), Gate())
    let hook = TestOrigin { _, socket in
      answers.wait()
      try socket.write(TestOrigin.reply("200 OK", Array(#"{"request":null}"#.utf8)))
      return true
    }
    let origin = TestOrigin { request, socket in
      if request.path == "/target" { ends.wait() }
      try socket.write(
        request.path == "/hop"
          ? TestOrigin.reply("302 Found", [], [("Location", "/target")]) : TestOrigin.reply("200 OK", []))
      return true
    }
    let id = try ferry.create(
      origin.url + "/hop", session: session(hook, asking: [Self.redirect], timeout: 0.1))
    let decision = try ferry.decisionEvent(of: id).decision
    _ = try ferry.poll("/v1/decisions/\(decision)") { $0["state"]?.string == "expired" }
    answers.openForGood()
    let reader = try ferry.events("/v1/tasks/\(id)/events?after=0&types=decision.answerWasRejected")
    let event = try #require(try reader.next())
    #expect(event.data["reason"]?.string == "the decision is expired")
    ends.openForGood()
    #expect(try ferry.end(of: id)["response"]?["status"]?.integer == 200)
  }

  /// These replies contain no answer.
  @Test(arguments: [
    ("204 No Content", ""), ("200 OK", ""), ("500 No", #"{"request":null}"#),
    ("400 Bad Request", #"{"request":null}"#),
  ])
  func `reply without answer leaves the decision to its timeout`(_ status: String, _ reply: String) throws {
    let hook = Self.delegate(origin.url, Self.redirect, status, reply)
    let id = try ferry.create(
      origin.url + "/hop", session: session(hook, asking: [Self.redirect], timeout: 0.7))
    let decision = try ferry.decisionEvent(of: id).decision
    let end = try ferry.end(of: id)
    #expect(end["error"] == .null && end["response"]?["status"]?.integer == 200)
    #expect(try ferry.decision(decision)["state"]?.string == "expired" && !hook.requests.isEmpty)
  }

  @Test func `another client may answer after the endpoint`() throws {
    let hook = Self.delegate(origin.url, Self.redirect, "204 No Content", "")
    let id = try ferry.create(
      origin.url + "/hop", session: session(hook, asking: [Self.redirect, Self.response]))
    let decision = try ferry.decisionEvent(of: id).decision
    #expect(try ferry.answer(decision, #"{"request":null}"#).status == 200)
    let response = try ferry.decisionEvent(of: id, Self.response)
    #expect(response.data["response"]?["status"]?.integer == 302)
    #expect(try ferry.answer(response.decision, #"{"disposition":"allow"}"#).status == 200)
    #expect(try ferry.end(of: id)["response"]?["status"]?.integer == 302)
    withExtendedLifetime(hook) {}
  }

  /// Without `answers`, the endpoint only receives events.
  @Test func `endpoint without answers does not decide`() throws {
    let hook = Self.delegate(origin.url, Self.redirect, "200 OK", #"{"request":null}"#)
    let body =
      #"{"redirects":"ask","decisionTimeout":1,"#
      + #""webhook":{"url":"\#(hook.url)/d","events":["task.willPerformHTTPRedirection"]}}"#
    let id = try ferry.create(origin.url + "/hop", session: ferry.session(delegate: body))
    let decision = try ferry.decisionEvent(of: id).decision
    #expect(try ferry.end(of: id)["response"]?["status"]?.integer == 200)
    #expect(try ferry.decision(decision)["state"]?.string == "expired" && !hook.requests.isEmpty)
  }
}

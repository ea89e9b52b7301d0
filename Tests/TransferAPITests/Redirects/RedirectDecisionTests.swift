import JSON
import TestSupport
import Testing

/// urlSession(_:task:willPerformHTTPRedirection:): the delegate decides on the target of a redirect.
@Suite(.serialized, .blocking, .sharing) struct RedirectDecisionTests {
  private let place: InProcessAPI
  private let session: String
  private let origin = TestOrigin { request, socket in
    let parts = request.path.split(separator: "/").map(String.init)
    switch parts.first {
    case "hop":
      try socket.write(TestOrigin.reply("302 Found", Array("redirect".utf8), [("Location", "/target")]))
    case "count":  // /count/3 leads to /count/2
      let left = parts.count > 1 ? Int(parts[1]) ?? 0 : 0
      let fields = left > 0 ? [("Location", "/count/\(left - 1)")] : []
      try socket.write(TestOrigin.reply(left > 0 ? "302 Found" : "200 OK", [], fields))
    case "keep": try socket.write(TestOrigin.reply("307 Temporary Redirect", [], [("Location", "/echo")]))
    case "echo": try socket.write(TestOrigin.reply("200 OK", Array(request.method.utf8) + request.body))
    default: try socket.write(TestOrigin.reply("200 OK", Array(request.path.utf8)))
    }
    return true
  }

  init() throws {
    place = try .ofSuite()
    session = try place.session(delegate: #"{"redirects":"ask"}"#)
  }

  private func create(_ path: String, kind: String = "data", request: String = "") throws -> String {
    try place.create(origin.url + path, kind: kind, session: session, request: request)
  }

  private func body(of id: String) throws -> String { try place.call("GET", "/v1/tasks/\(id)/body").text }

  /// An answer of the delegate, and the expected end of the task.
  struct Answer: Sendable, CustomTestStringConvertible {
    let name: String
    /// The request to answer with, where `$url` is the origin. If `nil`, the proposed request.
    let request: String?
    let status: Int64
    let body: String
    let paths: [String]
    var testDescription: String { name }
  }

  private static let answers = [
    Answer(name: "proposed", request: nil, status: 200, body: "/target", paths: ["/hop", "/target"]),
    Answer(
      name: "another", request: #"{"url":"$url/other","headers":{"X-Mine":"1"}}"#, status: 200,
      body: "/other", paths: ["/hop", "/other"]),
    Answer(
      name: "another method", request: #"{"url":"$url/echo","method":"PUT","body":{"text":"!"}}"#,
      status: 200, body: "PUT!", paths: ["/hop", "/echo"]),
    // httpRedirectDontFollowUsingNil
    Answer(name: "null", request: "null", status: 302, body: "redirect", paths: ["/hop"]),
  ]

  @Test(arguments: answers, ["data", "download"])
  func `answer decides the target of the redirect`(_ answer: Answer, _ kind: String) throws {
    let id = try create("/hop", kind: kind)
    let event = try place.decisionEvent(of: id)
    #expect(event.data["response"]?["status"]?.integer == 302)
    #expect(event.data["request"]?["url"]?.string == origin.url + "/target")
    #expect(event.data["default"]?.string == "follow" && event.data["expiresAt"]?.string != nil)
    let waiting = try place.task(id)
    #expect(waiting["phase"]?.string == "waitingForDecision" && waiting["response"] == .null)
    let request = answer.request.map { $0.split(separator: "$url").joined(separator: origin.url) }
    let reply = try place.answer(event.decision, #"{"request":\#(request ?? event.request)}"#)
    #expect(reply.status == 200 && reply.json["state"]?.string == "answered")
    let end = try place.end(of: id)
    #expect(end["error"] == .null && end["response"]?["status"]?.integer == answer.status)
    #expect(try body(of: id) == answer.body)
    #expect(origin.requests.map(\.path) == answer.paths)
    #expect(end["currentRequest"]?["url"]?.string == origin.url + (answer.paths.last ?? ""))
    #expect(end["originalRequest"]?["url"]?.string == origin.url + "/hop")
    #expect(end["progress"]?["countOfBytesReceived"]?.integer == Int64(answer.body.utf8.count))
  }

  @Test func `answered request is sent unchanged`() throws {
    let id = try create("/hop", request: #","headers":{"X-First":"1"}"#)
    let event = try place.decisionEvent(of: id)
    #expect(event.data["request"]?["headers"]?["X-First"]?.string == "1")
    try place.answer(
      event.decision, #"{"request":{"url":"\#(origin.url)/other","headers":{"X-Second":"2"}}}"#)
    _ = try place.end(of: id)
    let sent = try #require(origin.requests.last)
    #expect(sent.path == "/other" && sent["X-Second"] == "2" && sent["X-First"] == nil)
  }

  /// The phases and events of a task with one followed redirect, in order.
  private static let followed = [
    "task.didCreate", "queued", "transferring", "waitingForDecision", "task.willPerformHTTPRedirection",
    "queued", "transferring", "dataTask.didReceiveResponse", "task.didFinishCollectingMetrics",
    "task.didComplete",
  ]

  @Test(arguments: [true, false]) func `events of a redirect come in order`(_ follows: Bool) throws {
    let id = try create("/hop")
    let event = try place.decisionEvent(of: id)
    try place.answer(event.decision, #"{"request":\#(follows ? event.request : "null")}"#)
    let names = try place.story(of: id).map { event in
      event.type == "task.didChangeState" ? event.data["phase"]?.string ?? "" : event.type
    }
    var expected = Self.followed
    if !follows { expected.removeSubrange(6..<7) }
    #expect(names == expected)
  }

  /// A proposed request shows the size of its body. An answer may repeat that size to keep the body.
  @Test func `answer keeps the body by its size`() throws {
    for (answer, expected) in [
      (#","method":"POST","body":{"size":5}"#, "POSThello"), (#","method":"POST"}"#, "POST"),
      (#","method":"POST","body":{"text":"new"}"#, "POSTnew"),
    ] {
      let id = try create("/keep", request: #","method":"POST","body":{"text":"hello"}"#)
      let event = try place.decisionEvent(of: id)
      #expect(event.data["request"]?["body"]?["size"]?.integer == 5)
      let end = answer.hasSuffix(#""POST"}"#) ? "" : "}"
      let reply = try place.answer(
        event.decision, #"{"request":{"url":"\#(origin.url)/echo"\#(answer)\#(end)}"#)
      #expect(reply.status == 200)
      #expect(try place.end(of: id)["error"] == .null)
      #expect(try body(of: id) == expected)
    }
  }

  /// ExceededMaxRedirects: decisions do not change the limit.
  @Test func `limit of twenty redirects includes answered ones`() throws {
    let id = try create("/count/21")
    var sequence: Int64 = 0
    for hop in 1...20 {
      let event = try place.decisionEvent(of: id, after: sequence)
      #expect(event.data["request"]?["url"]?.string == origin.url + "/count/\(21 - hop)")
      sequence = event.id ?? 0
      try place.answer(event.decision, #"{"request":\#(event.request)}"#)
    }
    let end = try place.end(of: id)
    #expect(end.errorCode == -1007 && end["response"]?["status"]?.integer == 302)
    #expect(end["error"]?["failingURL"]?.string == origin.url + "/count/1")
    #expect(origin.requests.count == 21)
  }

  // MARK: Repeated, late and wrong answers

  @Test func `decision accepts one answer and its repetitions`() throws {
    let id = try create("/hop")
    let event = try place.decisionEvent(of: id)
    let answer = #"{"request":{"url":"\#(origin.url)/other"}}"#
    for _ in 0..<3 { #expect(try place.answer(event.decision, answer).status == 200) }
    let other = try place.answer(event.decision, #"{"request":null}"#)
    #expect(other.status == 409 && other.json["type"]?.string == "/problems/decision-settled")
    _ = try place.end(of: id)
    #expect(try place.answer(event.decision, answer).status == 200)
    #expect(try place.answer(event.decision, #"{"request":null}"#).status == 409)
    #expect(origin.requests.map(\.path) == ["/hop", "/other"])
    // A withdrawn decision accepts no answer.
    let cancelled = try create("/hop")
    let lost = try place.decisionEvent(of: cancelled).decision
    _ = try place.act("cancel", cancelled)
    _ = try place.end(of: cancelled)
    #expect(try place.answer(lost, #"{"request":null}"#).status == 409)
    #expect(try place.decision(lost)["state"]?.string == "withdrawn")
  }

  @Test func `secrets of an answer are sent but not shown`() throws {
    let id = try create("/hop")
    let event = try place.decisionEvent(of: id)
    func answer(_ secret: String) throws -> HTTPReply {
      let url = origin.url.replacing("http://", with: "http://alice:\(secret)@") + "/other"
      let headers = #"{"Proxy-Authorization":"Bearer \#(secret)"}"#
      return try place.answer(event.decision, #"{"request":{"url":"\#(url)","headers":\#(headers)}}"#)
    }
    let reply = try answer("s3cret")
    #expect(reply.status == 200 && !reply.text.contains("s3cret"))
    #expect(try place.end(of: id)["error"] == .null)
    #expect(origin.requests.last?["Proxy-Authorization"] == "Bearer s3cret")
    let kept = try place.decision(event.decision)["answer"]?["request"]
    #expect(kept?["url"]?.string == origin.url + "/other")
    #expect(kept?["headers"]?["Proxy-Authorization"]?.string == "(redacted)")
    #expect(try answer("s3cret").status == 200, "the same again")
    #expect(try answer("0ther").status == 409)
  }

  @Test(arguments: ["dec_0198c0de-0000-7000-8000-000000000000", "dec_x", "tsk_x", "x"])
  func `unknown decision is not found`(_ id: String) throws {
    #expect(try place.answer(id, #"{"request":null}"#).status == 404)
    #expect(try place.call("GET", "/v1/decisions/\(id)").status == 404)
  }

  private static let malformed = [
    ("{}", "/request"), (#"{"request":5}"#, "/request"), (#"{"request":{}}"#, "/request/url"),
    (#"{"request":{"url":"ftp://h/"}}"#, "/request/url"),
    (#"{"request":{"url":"http://h/","methode":"GET"}}"#, "/request/methode"),
    (#"{"request":{"url":"http://h/","headers":{"A b":"c"}}}"#, "/request/headers/A b"),
    (#"{"request":{"url":"http://h/","body":{"size":3}}}"#, "/request/body/size"),
    (#"{"request":{"url":"http://h/","body":{"file":"x"}}}"#, "/request/body/file"),
    (#"{"request":null,"disposition":"allow"}"#, "/disposition"), ("[]", ""), ("null", ""),
  ]

  @Test func `malformed answer is refused and the decision stays pending`() throws {
    let id = try create("/hop")
    let decision = try place.decisionEvent(of: id).decision
    for (answer, pointer) in Self.malformed {
      let reply = try place.answer(decision, answer)
      let pointers = (reply.json["errors"]?.elements ?? []).compactMap { $0["pointer"]?.string }
      #expect(reply.status == 400 && pointers.contains(pointer), "\(answer): \(pointers)")
    }
    #expect(try place.answer(decision, "{").status == 400)
    #expect(try place.decision(decision)["state"]?.string == "pending")
    #expect(try place.task(id)["phase"]?.string == "waitingForDecision")
    #expect(try place.answer(decision, #"{"request":null}"#).status == 200)
    #expect(try place.end(of: id)["response"]?["status"]?.integer == 302)
  }

  // MARK: Lists

  @Test func `decisions are listed by state and page`() throws {
    let tasks = try (0..<5).map { _ in try create("/hop") }
    let decisions = try tasks.map { try place.decisionEvent(of: $0).decision }
    for index in [1, 3] { try place.answer(decisions[index], #"{"request":null}"#) }
    let list = "/v1/sessions/\(session)/decisions"
    func ids(_ query: String) throws -> Set<String> {
      Set((try place.call("GET", list + query).json["items"]?.elements ?? []).map(\.id))
    }
    #expect(try ids("") == Set(decisions))
    #expect(try ids("?state=answered") == [decisions[1], decisions[3]])
    #expect(try ids("?state=pending") == [decisions[0], decisions[2], decisions[4]])
    #expect(try ids("?state=expired").isEmpty)
    #expect(try place.call("GET", list + "?state=open").status == 400)
    var (pages, cursor) = ([String](), "")
    repeat {
      let page = try place.call("GET", list + "?state=pending&limit=2" + cursor)
      pages += (page.json["items"]?.elements ?? []).map(\.id)
      cursor = page.json["nextCursor"]?.string.map { "&cursor=\($0)" } ?? ""
      #expect((page["Link"] != nil) == !cursor.isEmpty)
    } while !cursor.isEmpty
    #expect(pages.count == 3 && pages == pages.sorted())
    #expect(try Set(pages) == ids("?state=pending"))
    let one = try place.decision(decisions[0])
    #expect(one["sessionId"]?.string == session && one["taskId"]?.string == tasks[0])
    #expect(one["type"]?.string == "task.willPerformHTTPRedirection" && one["answer"] == .null)
    #expect(one["state"]?.string == "pending" && one["default"]?.string == "follow")
    #expect(one["data"]?["request"]?["url"]?.string == origin.url + "/target")
    #expect(try place.decision(decisions[1])["answer"]?["request"] == .null)
  }
}

extension EventReader.Event {
  /// The request that the event proposes, as JSON.
  fileprivate var request: String { data["request"]?.text ?? "" }
}

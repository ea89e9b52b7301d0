import JSON
import TestSupport
import Testing

/// Restrictions on the tasks of background sessions.
@Suite(.serialized, .blocking) struct BackgroundRuleTests {
  private let origin = TestOrigin { request, socket in
    let location = request.path == "/redirect" ? [("Location", "/target")] : []
    let body = request.method == "POST" ? request.body : Array("body".utf8)
    try socket.write(
      TestOrigin.reply(
        location.isEmpty ? "200 OK" : "302 Found", body, location + [("Cache-Control", "max-age=60")]))
    return true
  }

  private func pointers(_ reply: JSONValue) -> [String] {
    reply["errors"]?.elements?.compactMap { $0["pointer"]?.string } ?? []
  }

  @Test func `redirects and responses lead to no decision and no cached response`() throws {
    let ferry = try FerryProcess()
    let asks = #","delegate":{"redirects":"ask","responses":"ask","caching":"ask"}"#
    let session = try ferry.background("a", asks).json.id
    for _ in 0..<2 {
      let id = try ferry.create(origin.url + "/redirect", session: session)
      let story = try ferry.story(of: id)
      #expect(!story.contains { $0.type == "task.willPerformHTTPRedirection" })
      #expect(story.allSatisfy { $0.data["decisionId"] == nil })
      let task = try ferry.task(id)
      #expect(task["response"]?["status"]?.integer == 200)
      #expect(task["currentRequest"]?["url"]?.string == origin.url + "/target")
      #expect(task["response"]?["fromCache"]?.bool != true)
    }
    #expect(origin.requests.map(\.path) == ["/redirect", "/target", "/redirect", "/target"])
  }

  @Test func `uploads must come from stored files`() throws {
    let ferry = try FerryProcess()
    let session = try ferry.background("a").json.id
    let file = try ferry.call("POST", "/v1/files", "stored", [("Content-Type", "text/plain")]).json.id
    for (body, isTaken) in [
      (#"{"text":"a"}"#, false), (#"{"base64":"AA=="}"#, false), (#"{"stream":true}"#, false),
      (#"{"file":"\#(file)"}"#, true),
    ] {
      let text =
        #"{"kind":"upload","resume":true,"request":{"url":"\#(origin.url)/","body":\#(body)}}"#
      let reply = try ferry.call("POST", "/v1/sessions/\(session)/tasks", text)
      #expect(
        reply.status == (isTaken ? 201 : 400) && pointers(reply.json) == (isTaken ? [] : ["/request/body"]))
    }
    _ = try ferry.poll("/v1/sessions/\(session)/tasks?state=completed") { $0["items"]?.elements?.count == 1 }
    #expect(origin.requests.map(\.body) == [Array("stored".utf8)])
  }

  /// The delegate is asked about a delayed request. A replacement request must follow the same rules.
  @Test func `delayed request is a decision with the same rules`() throws {
    let ferry = try FerryProcess()
    let session = try ferry.background("a", #","delegate":{"delayedRequests":"ask"}"#).json.id
    let body =
      #"{"kind":"data","resume":true,"earliestBeginDate":"2020-01-01T00:00:00Z","request":{"url":"\#(origin.url)/"}}"#
    let id = try ferry.call("POST", "/v1/sessions/\(session)/tasks", body).json.id
    let question = try ferry.decisionEvent(of: id, "task.willBeginDelayedRequest")
    func useRequest(_ body: String) throws -> HTTPReply {
      let request = #"{"url":"\#(origin.url)/new","method":"POST","body":\#(body)}"#
      return try ferry.answer(
        question.decision, #"{"disposition":"useNewRequest","request":\#(request)}"#)
    }
    let refused = try useRequest(#"{"stream":true}"#)
    #expect(refused.status == 400 && pointers(refused.json) == ["/request/body"])
    #expect(try useRequest(#"{"text":"new"}"#).status == 200)
    #expect(try ferry.end(of: id)["response"]?["status"]?.integer == 200)
    #expect(origin.requests.map(\.path) == ["/new"])
  }

  /// A background task always waits for connectivity, whatever its configuration says, and only its phase shows the
  /// wait.
  @Test func `task waits for connectivity without an event`() throws {
    let place = try UnpluggableNetworkFixture()
    let session = try place.ferry.background(
      "a", #","configuration":{"waitsForConnectivity":false},"delegate":{}"#
    ).json.id
    let id = try place.ferry.create(place.url, kind: "download", session: session)
    let waiting = try place.ferry.poll("/v1/tasks/" + id) { $0["phase"]?.string == "waitingForConnectivity" }
    #expect(waiting["phase"]?.string == "waitingForConnectivity")
    try place.setLinkUp()
    let story = try place.ferry.story(of: id)
    #expect(!story.contains { $0.type == UnpluggableNetworkFixture.waiting })
    #expect(try place.ferry.task(id)["error"] == .null)
  }
}

import JSON
import TestSupport
import Testing

/// Events during a redirect decision: expiry, cancellation, suspension.
@Suite(.serialized, .blocking, .sharing) struct RedirectWaitTests {
  private let place: InProcessAPI
  private let session: String
  private let origin = TestOrigin { request, socket in
    switch request.path {
    case "/hop":
      try socket.write(TestOrigin.reply("302 Found", Array("redirect".utf8), [("Location", "/target")]))
    case "/large":
      let body = [UInt8](repeating: 7, count: RedirectWaitTests.large)
      try socket.write(TestOrigin.reply("302 Found", body, [("Location", "/target")]))
    case "/endless":
      try socket.write("HTTP/1.1 302 Found\r\nContent-Length: 1000000\r\nLocation: /target\r\n\r\nbegin")
      return try socket.readSome() != nil
    default: try socket.write(TestOrigin.reply("200 OK", Array(request.path.utf8)))
    }
    return true
  }
  private static let large = 5 << 20

  init() throws {
    place = try .ofSuite()
    session = try place.session(#"{"httpMaximumConnectionsPerHost":1}"#, delegate: #"{"redirects":"ask"}"#)
  }

  private func create(_ path: String, kind: String = "data", request: String = "") throws -> String {
    try place.create(origin.url + path, kind: kind, session: session, request: request)
  }

  /// httpRedirectDontFollowUsingIgnoringHandler: the default applies at expiry, and the wait causes no timeout
  /// (-1001).
  @Test(arguments: ["/hop", "/large", "/endless"])
  func `expired redirect decision applies the default without a timeout`(_ path: String) throws {
    let asking = try place.session(delegate: #"{"redirects":"ask","decisionTimeout":1.5}"#)
    let start = ContinuousClock.now
    let id = try place.create(origin.url + path, session: asking, request: #","timeoutInterval":1"#)
    let decision = try place.decisionEvent(of: id).decision
    let story = try place.story(of: id).map(\.type)
    // The decision does not expire early. The test may look late.
    #expect(.now - start >= .seconds(1.5))
    #expect(story.filter { $0 == "task.willPerformHTTPRedirection" }.count == 1)
    let end = try place.task(id)
    #expect(end["error"] == .null && end["response"]?["status"]?.integer == 200)
    #expect(origin.requests.map(\.path) == [path, "/target"])
    let expired = try place.decision(decision)
    #expect(expired["state"]?.string == "expired" && expired["answer"] == .null)
    #expect(try place.answer(decision, #"{"request":null}"#).status == 409)
  }

  @Test(arguments: ["/hop", "/large", "/endless"], ["data", "download"])
  func `task may be cancelled during a redirect decision`(_ path: String, _ kind: String) throws {
    let id = try create(path, kind: kind)
    let decision = try place.decisionEvent(of: id).decision
    #expect(try place.act("cancel", id) == "canceling")
    let end = try place.end(of: id)
    #expect(end.errorCode == -999 && end["response"] == .null && end["body"] == .null)
    #expect(try place.decision(decision)["state"]?.string == "withdrawn")
    // The connection slot of the task is free again.
    #expect(try place.run(origin.url + "/ok", session: session)["error"] == .null)
    #expect(origin.requests.map(\.path) == [path, "/ok"])
  }

  @Test(arguments: ["/hop", "/large", "/endless"])
  func `task suspended during a redirect decision continues when resumed`(_ path: String) throws {
    for answersFirst in [true, false] {
      let before = origin.requests.count
      let id = try create(path)
      let event = try place.decisionEvent(of: id)
      #expect(try place.act("suspend", id) == "suspended")
      if answersFirst {
        try follow(event)
        try place.waitForEarlierCommands(origin.url + "/ok")
        #expect(try place.task(id)["state"]?.string == "suspended")
        #expect(origin.requests.dropFirst(before).map(\.path) == [path, "/ok"])
      }
      #expect(try place.act("resume", id) == "running")
      if !answersFirst {
        #expect(try place.task(id)["phase"]?.string == "waitingForDecision")
        try follow(event)
      }
      #expect(try place.end(of: id)["response"]?["status"]?.integer == 200)
      #expect(origin.requests.last?.path == "/target")
    }
  }

  private func follow(_ event: EventReader.Event) throws {
    let reply = try place.answer(event.decision, #"{"request":\#(event.data["request"]?.text ?? "")}"#)
    #expect(reply.status == 200)
  }

  /// A task with a complete response holds no connection during the decision, so other tasks may use it.
  @Test func `task that waits for a decision lets others pass`() throws {
    let ids = try (0..<5).map { _ in try create("/hop") }
    let events = try ids.map { try place.decisionEvent(of: $0) }
    #expect(try place.run(origin.url + "/ok", session: session)["error"] == .null)
    for event in events.reversed() { try follow(event) }
    for id in ids { #expect(try place.end(of: id)["response"]?["status"]?.integer == 200) }
  }

  // MARK: Body of the redirect

  @Test(arguments: ["/large", "/endless"], ["data", "download"])
  func `redirect with a large or endless body is followed`(_ path: String, _ kind: String) throws {
    let id = try create(path, kind: kind)
    try follow(try place.decisionEvent(of: id))
    let end = try place.end(of: id)
    #expect(end["error"] == .null && end["response"]?["status"]?.integer == 200)
    #expect(try place.call("GET", "/v1/tasks/\(id)/body").text == "/target")
    #expect(end["progress"]?["countOfBytesReceived"]?.integer == 7)
  }

  @Test(arguments: ["data", "download"]) func `large redirect is delivered`(_ kind: String) throws {
    let id = try create("/large", kind: kind)
    try place.answer(try place.decisionEvent(of: id).decision, #"{"request":null}"#)
    let end = try place.end(of: id)
    #expect(end["error"] == .null && end["response"]?["status"]?.integer == 302)
    let body = try place.call("GET", "/v1/tasks/\(id)/body").body
    #expect(body == [UInt8](repeating: 7, count: Self.large))
  }

  @Test func `endless redirect delivered as response times out`() throws {
    let id = try create("/endless", request: #","timeoutInterval":0.4"#)
    try place.answer(try place.decisionEvent(of: id).decision, #"{"request":null}"#)
    let end = try place.end(of: id)
    #expect(end.errorCode == -1001 && end["response"]?["status"]?.integer == 302)
    #expect(end["progress"]?["countOfBytesReceived"]?.integer == 5)
  }
}

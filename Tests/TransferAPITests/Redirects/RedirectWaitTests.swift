import JSON
import TestSupport
import Testing

/// What may happen while a redirect waits for its delegate.
@Suite(.serialized, .blocking, .sharing) struct RedirectWaitTests {
  private let place: APIPlace
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

  /// httpRedirectDontFollowUsingIgnoringHandler: nothing happens until the default is done, and no -1001 comes of it.
  @Test(arguments: ["/hop", "/large", "/endless"])
  func withoutAnAnswerTheDefaultIsDoneAndTheRequestDoesNotTimeOut(_ path: String) throws {
    let asking = try place.session(delegate: #"{"redirects":"ask","decisionTimeout":1.5}"#)
    let start = ContinuousClock.now
    let id = try place.create(origin.url + path, session: asking, request: #","timeoutInterval":1"#)
    let decision = try place.question(of: id).decision
    let story = try place.story(of: id).map(\.type)
    // Not earlier, however late this test looks.
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
  func aTaskIsCancelledWhileItWaits(_ path: String, _ kind: String) throws {
    let id = try create(path, kind: kind)
    let decision = try place.question(of: id).decision
    #expect(try place.act("cancel", id) == "canceling")
    let end = try place.end(of: id)
    #expect(end.errorCode == -999 && end["response"] == .null && end["body"] == .null)
    #expect(try place.decision(decision)["state"]?.string == "withdrawn")
    // Its place is free.
    #expect(try place.run(origin.url + "/ok", session: session)["error"] == .null)
    #expect(origin.requests.map(\.path) == [path, "/ok"])
  }

  @Test(arguments: ["/hop", "/large", "/endless"])
  func aTaskThatIsSuspendedWhileItWaitsGoesOnWhenItIsResumed(_ path: String) throws {
    for answersFirst in [true, false] {
      let before = origin.requests.count
      let id = try create(path)
      let event = try place.question(of: id)
      #expect(try place.act("suspend", id) == "suspended")
      if answersFirst {
        try follow(event)
        try place.settle(origin.url + "/ok")
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

  /// A task whose answer is complete holds no connection while it waits: others go past it.
  @Test func othersPassATaskThatWaits() throws {
    let ids = try (0..<5).map { _ in try create("/hop") }
    let events = try ids.map { try place.question(of: $0) }
    #expect(try place.run(origin.url + "/ok", session: session)["error"] == .null)
    for event in events.reversed() { try follow(event) }
    for id in ids { #expect(try place.end(of: id)["response"]?["status"]?.integer == 200) }
  }

  // MARK: The redirect's own body

  @Test(arguments: ["/large", "/endless"], ["data", "download"])
  func aRedirectWithMuchOrUnendingContentIsFollowed(_ path: String, _ kind: String) throws {
    let id = try create(path, kind: kind)
    try follow(try place.question(of: id))
    let end = try place.end(of: id)
    #expect(end["error"] == .null && end["response"]?["status"]?.integer == 200)
    #expect(try place.call("GET", "/v1/tasks/\(id)/body").text == "/target")
    #expect(end["progress"]?["countOfBytesReceived"]?.integer == 7)
  }

  @Test(arguments: ["data", "download"]) func aLargeRedirectIsTheResultWhole(_ kind: String) throws {
    let id = try create("/large", kind: kind)
    try place.answer(try place.question(of: id).decision, #"{"request":null}"#)
    let end = try place.end(of: id)
    #expect(end["error"] == .null && end["response"]?["status"]?.integer == 302)
    let body = try place.call("GET", "/v1/tasks/\(id)/body").body
    #expect(body == [UInt8](repeating: 7, count: Self.large))
  }

  @Test func anUnendingRedirectThatIsTheResultTimesOutOnceItIsTaken() throws {
    let id = try create("/endless", request: #","timeoutInterval":0.4"#)
    try place.answer(try place.question(of: id).decision, #"{"request":null}"#)
    let end = try place.end(of: id)
    #expect(end.errorCode == -1001 && end["response"]?["status"]?.integer == 302)
    #expect(end["progress"]?["countOfBytesReceived"]?.integer == 5)
  }
}

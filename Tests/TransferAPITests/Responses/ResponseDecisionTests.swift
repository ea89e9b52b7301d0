import JSON
import TestSupport
import Testing

/// #3236: a delegate allows a response, cancels the task, or turns it into a download.
@Suite(.serialized, .blocking, .sharing) struct ResponseDecisionTests {
  private static let asked = "dataTask.didReceiveResponse"
  private static let large = (0..<5 << 20).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
  private let place: InProcessAPI
  private let session: String
  private let origin = TestOrigin { request, socket in
    switch request.path {
    case "/large": try socket.write(TestOrigin.reply("200 OK", ResponseDecisionTests.large))
    case "/none": try socket.write("HTTP/1.1 204 No Content\r\n\r\n")
    case "/empty": try socket.write(TestOrigin.reply("200 OK"))
    case "/head": try socket.write("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n")
    case "/lost", "/open":
      try socket.write("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nhalf")
      return request.path == "/open" ? try socket.readSome() != nil : false
    default: try socket.write(TestOrigin.reply("200 OK", Array("hello".utf8)))
    }
    return true
  }

  init() throws {
    place = try .ofSuite()
    session = try place.session(
      #"{"httpMaximumConnectionsPerHost":2}"#, delegate: #"{"responses":"ask"}"#)
  }

  private func create(_ path: String, kind: String = "data", request: String = "") throws -> String {
    try place.create(origin.url + path, kind: kind, session: session, request: request)
  }

  /// Answers the single decision of a task.
  private func decide(_ disposition: String, of id: String) throws {
    let event = try place.decisionEvent(of: id, Self.asked)
    #expect(event.data["default"]?.string == "allow" && event.data["response"]?["status"] != nil)
    #expect(try place.task(id)["phase"]?.string == "waitingForDecision")
    let reply = try place.answer(event.decision, #"{"disposition":"\#(disposition)"}"#)
    #expect(reply.status == 200 && reply.json["answer"]?["disposition"]?.string == disposition)
  }

  /// Waits until the data task has become a download, and returns the download's id.
  private func download(of id: String) throws -> String {
    let story = try place.events("/v1/tasks/\(id)/events?after=0&progress=false")
    let event = try story.read(upTo: "dataTask.didBecomeDownloadTask").last
    let download = try place.task(id)["downloadTaskId"]
    #expect(download == event?.data["downloadTaskId"])
    return download?.string ?? ""
  }

  private func body(of id: String) throws -> [UInt8] { try place.call("GET", "/v1/tasks/\(id)/body").body }

  private static let bodies: [(path: String, method: String, body: [UInt8])] = [
    ("/hello", "GET", Array("hello".utf8)), ("/large", "GET", large), ("/none", "GET", []),
    ("/empty", "GET", []), ("/head", "HEAD", []),
  ]

  // MARK: Allow

  @Test func `allowed response is delivered`() throws {
    for (path, method, expected) in Self.bodies {
      let id = try create(path, request: #","method":"\#(method)""#)
      try decide("allow", of: id)
      let story = try place.story(of: id)
      #expect(story.filter { $0.type == Self.asked }.count == 1)
      let end = try place.task(id)
      #expect(
        end["error"] == .null && end["kind"]?.string == "data" && end["downloadTaskId"] ?? .null == .null)
      #expect(try body(of: id) == expected, "\(path)")
    }
  }

  @Test func `upload waits for a response decision`() throws {
    let id = try create("/hello", kind: "upload", request: #","method":"PUT","body":{"text":"up"}"#)
    try decide("allow", of: id)
    #expect(try place.end(of: id)["error"] == .null)
    #expect(try body(of: id) == Array("hello".utf8))
  }

  @Test func `expired response decision allows the response`() throws {
    let asking = try place.session(delegate: #"{"responses":"ask","decisionTimeout":0.8}"#)
    for (path, expected) in [("/hello", Array("hello".utf8)), ("/large", Self.large)] {
      // The request's timeout runs only while the origin has to send.
      let id = try place.create(origin.url + path, session: asking, request: #","timeoutInterval":0.3"#)
      let decision = try place.decisionEvent(of: id, Self.asked).decision
      #expect(try place.end(of: id)["error"] == .null)
      #expect(try body(of: id) == expected)
      #expect(try place.decision(decision)["state"]?.string == "expired")
      #expect(try place.answer(decision, #"{"disposition":"cancel"}"#).status == 409)
    }
  }

  // MARK: Cancel

  @Test(arguments: ["/hello", "/large", "/none", "/open"]) func `cancel answer ends the task`(_ path: String)
    throws
  {
    let id = try create(path)
    try decide("cancel", of: id)
    let end = try place.end(of: id)
    #expect(end.errorCode == -999 && end["body"] == .null && end["state"]?.string == "completed")
    #expect(end["response"]?["status"]?.integer == (path == "/none" ? 204 : 200))
    #expect(try place.call("GET", "/v1/tasks/\(id)/body").status == 404)
  }

  // MARK: Becoming a download

  @Test func `data task becomes a download`() throws {
    for (path, method, expected) in Self.bodies {
      let id = try create(path, request: #","method":"\#(method)""#)
      let number = try #require(try place.task(id)["taskIdentifier"]?.integer)
      try decide("becomeDownload", of: id)
      let next = try download(of: id)
      #expect(!next.isEmpty && next != id)
      let end = try place.end(of: next)
      #expect(
        end["kind"]?.string == "download" && end["error"] == .null && end["state"]?.string == "completed")
      #expect(end["taskIdentifier"]?.integer == number + 1)
      #expect(end["response"]?["status"]?.integer == (path == "/none" ? 204 : 200))
      #expect(end["originalRequest"]?["url"]?.string == origin.url + path)
      #expect(try body(of: next) == expected, "\(path)")
      try isSilent(id, since: next)
    }
    let listed = try place.call("GET", "/v1/sessions/\(session)/tasks?kind=download").json["items"]
    #expect(listed?.elements?.count == Self.bodies.count)
  }

  /// Checks that the old task has ended, and that `dataTask.didBecomeDownloadTask` is its last event.
  private func isSilent(_ id: String, since next: String) throws {
    let old = try place.task(id)
    #expect(old["state"]?.string == "completed" && old["kind"]?.string == "data")
    #expect(old["error"] == .null && old["body"] == .null)
    #expect(try place.call("GET", "/v1/tasks/\(id)/body").status == 404)
    for verb in ["suspend", "resume", "cancel"] { #expect(try place.act(verb, id) == "completed") }
    let marker = try place.create(origin.url + "/hello", resume: false)
    let all = try place.events("/v1/events?after=0&progress=false")
    var (before, after) = ([String](), [String]())
    while let event = try all.next(), event.task != marker {
      if event.task == id { before.append(event.type) }
      if event.task == next { after.append(event.type) }
      if event.type == "dataTask.didBecomeDownloadTask" {
        #expect(event.data["downloadTaskId"]?.string == event.data["downloadTask"]?.id)
      }
    }
    #expect(before.last == "dataTask.didBecomeDownloadTask" && !before.contains("task.didComplete"))
    #expect(after.first == "task.didCreate")
    #expect(
      Array(after.suffix(3)) == [
        "downloadTask.didFinishDownloading", "task.didFinishCollectingMetrics", "task.didComplete",
      ])
    #expect(!after.contains(Self.asked))
  }

  @Test func `download made from a data task can be suspended and cancelled`() throws {
    let id = try create("/open")
    try decide("becomeDownload", of: id)
    let next = try download(of: id)
    #expect(try place.act("suspend", next) == "suspended")
    #expect(try place.act("resume", next) == "running")
    #expect(try place.act("cancel", next) == "canceling")
    #expect(try place.end(of: next).errorCode == -999)
    #expect(try place.run(origin.url + "/hello", session: session)["error"] == .null)
  }

  // MARK: Tasks without a decision

  @Test func `task with a completion needs no response decision`() throws {
    let hook = TestOrigin { _, socket in
      try socket.write(TestOrigin.reply("204 No Content"))
      return true
    }
    let reply = try place.call(
      "POST", "/v1/sessions/\(session)/tasks",
      #"{"kind":"data","resume":true,"request":{"url":"\#(origin.url)/hello"},"#
        + #""completion":{"webhook":{"url":"\#(hook.url)/"}}}"#)
    let story = try place.story(of: reply.json.id)
    #expect(story.allSatisfy { $0.data["decisionId"] == nil })
    #expect(try place.task(reply.json.id)["error"] == .null)
    withExtendedLifetime(hook) {}
  }

  /// For a client that waits, the reply takes the place of a completion handler.
  @Test func `task of a waiting client needs no response decision`() throws {
    let task = try place.run(origin.url + "/hello", kind: "data", session: session)
    #expect(task["error"] == .null && task["state"]?.string == "completed")
    let story = try place.story(of: task.id)
    #expect(story.allSatisfy { $0.data["decisionId"] == nil })
    #expect(story.map(\.type).contains(Self.asked) && story.last?.type == "task.didComplete")
  }

  @Test func `download needs no response decision`() throws {
    let story = try place.story(of: create("/large", kind: "download"))
    #expect(story.allSatisfy { $0.type != Self.asked && $0.data["decisionId"] == nil })
    #expect(story.last?.data["error"] == .null)
  }

  // MARK: During the wait

  @Test(arguments: ["/hello", "/large"]) func `task may be suspended meanwhile`(_ path: String) throws {
    for answersFirst in [true, false] {
      let id = try create(path)
      let decision = try place.decisionEvent(of: id, Self.asked).decision
      #expect(try place.act("suspend", id) == "suspended")
      if answersFirst {
        #expect(try place.answer(decision, #"{"disposition":"allow"}"#).status == 200)
        try place.waitForEarlierCommands(origin.url + "/hello")
        #expect(try place.task(id)["state"]?.string == "suspended")
      }
      #expect(try place.act("resume", id) == "running")
      if !answersFirst {
        #expect(try place.task(id)["phase"]?.string == "waitingForDecision")
        #expect(try place.answer(decision, #"{"disposition":"allow"}"#).status == 200)
      }
      #expect(try place.end(of: id)["error"] == .null)
      #expect(try body(of: id) == (path == "/large" ? Self.large : Array("hello".utf8)))
    }
  }

  /// A connection that is lost during the decision is reported after the answer.
  @Test(arguments: ["allow", "becomeDownload", "cancel"])
  func `lost connection is reported after the response decision`(_ disposition: String) throws {
    let id = try create("/lost")
    try decide(disposition, of: id)
    let end = try place.end(of: disposition == "becomeDownload" ? download(of: id) : id)
    #expect(end.errorCode == (disposition == "cancel" ? -999 : -1005) && end["body"] == .null)
  }

  @Test func `malformed response answer names the field`() throws {
    let id = try create("/hello")
    let decision = try place.decisionEvent(of: id, Self.asked).decision
    for (answer, pointer) in [
      ("{}", "/disposition"), (#"{"disposition":"maybe"}"#, "/disposition"),
      (#"{"disposition":1}"#, "/disposition"), (#"{"disposition":"allow","request":null}"#, "/request"),
      (#"{"request":null}"#, "/disposition"), ("[]", ""),
    ] {
      let reply = try place.answer(decision, answer)
      let pointers = (reply.json["errors"]?.elements ?? []).compactMap { $0["pointer"]?.string }
      #expect(reply.status == 400 && pointers.contains(pointer), "\(answer): \(pointers)")
    }
    #expect(try place.answer(decision, #"{"disposition":"allow"}"#).status == 200)
    #expect(try place.answer(decision, #"{"disposition":"cancel"}"#).status == 409)
    #expect(try place.end(of: id)["error"] == .null)
  }
}

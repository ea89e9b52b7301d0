import JSON
import TestSupport
import Testing

/// `URLSessionTask.delegate`: a task's own delegate replaces its session's. Calls that it does not set go to the
/// session's delegate.
@Suite(.serialized, .blocking, .sharing) struct TaskDelegateTests {
  private static let redirect = "task.willPerformHTTPRedirection"
  private let ferry: FerryProcess
  private let origin = TestOrigin { request, socket in
    if request.path == "/hop" {
      try socket.write(TestOrigin.reply("302 Found", Array("redirect".utf8), [("Location", "/target")]))
    } else {
      try socket.write(TestOrigin.reply("200 OK", Array(request.path.utf8)))
    }
    return true
  }

  init() throws { ferry = try .ofSuite() }

  /// Creates a task with its own delegate.
  private func create(
    _ path: String, _ delegate: String, in session: String, _ members: String = ""
  ) throws -> JSONValue {
    let body =
      #"{"kind":"data","resume":true,"request":{"url":"\#(origin.url + path)"},"delegate":\#(delegate)\#(members)}"#
    return try ferry.call("POST", "/v1/sessions/\(session)/tasks", body).json
  }

  @Test func `webhook of a task replaces that of its session`() throws {
    let (mine, sessions) = (WebhookReceiver(), WebhookReceiver())
    func webhook(_ hook: WebhookReceiver, _ events: String) -> String {
      #""webhook":{"url":"\#(hook.url)","events":[\#(events)]}"#
    }
    let session = try ferry.session(
      FerryProcess.uncached, delegate: "{\(webhook(sessions, #""task.didComplete""#))}")
    let events = #""task.didCreate","\#(Self.redirect)","task.didComplete""#
    let task = try create("/hop", "{\(webhook(mine, events))}", in: session)
    #expect(mine.wait(for: "task.didComplete").first?.json["data"]?["taskId"]?.string == task.id)
    // The messages are posted concurrently, in no order.
    for type in ["task.didCreate", Self.redirect] { #expect(mine.wait(for: type).count == 1) }
    #expect(Set(mine.types) == ["task.didCreate", Self.redirect, "task.didComplete"])
    // The session's webhook receives events of tasks without a delegate, and of tasks whose delegate has no webhook.
    let silent = try create("/x", #"{"redirects":"ask"}"#, in: session)
    let plain = try ferry.create(origin.url + "/x", session: session)
    let heard = sessions.wait(for: "task.didComplete", 2).compactMap { $0.json["data"]?["taskId"]?.string }
    #expect(Set(heard) == [silent.id, plain])
    #expect(sessions.messages.count == 2 && mine.messages.count == 3)
  }

  @Test func `webhook of a task answers its decisions`() throws {
    let (url, redirect) = (origin.url, Self.redirect)
    let hook = TestOrigin { request, socket in
      let asks = (try? JSONParser.parse(request.body))?["type"]?.string == redirect
      let reply = Array(#"{"request":{"url":"\#(url)/other"}}"#.utf8)
      try socket.write(asks ? TestOrigin.reply("200 OK", reply) : TestOrigin.reply("204 No Content"))
      return true
    }
    let session = try ferry.session(FerryProcess.uncached)
    let delegate = #"{"redirects":"ask","webhook":{"url":"\#(hook.url)","events":[],"answers":true}}"#
    let task = try create("/hop", delegate, in: session)
    #expect(try ferry.end(of: task.id)["currentRequest"]?["url"]?.string == url + "/other")
  }

  /// The delegate persists across a restart, applies to the download that the task becomes, and is asked about a
  /// delayed begin.
  @Test func `delegate stays with the task`() throws {
    let directory = TemporaryDirectory.make("ferry-task-delegate")
    var id = ""
    do {
      let ferry = try FerryProcess(directory: directory)
      let session = try ferry.session(FerryProcess.uncached)
      let body =
        #"{"kind":"data","request":{"url":"\#(origin.url)/hop"},"delegate":{"redirects":"ask","responses":"ask","#
        + #""delayedRequests":"ask"},"earliestBeginDate":"2020-01-01T00:00:00Z"}"#
      id = try ferry.call("POST", "/v1/sessions/\(session)/tasks", body).json.id
      #expect(ferry.terminate() == 0)
    }
    let ferry = try FerryProcess(directory: directory)
    #expect(
      try ferry.task(id)["delegate"]?.text
        == #"{"redirects":"ask","responses":"ask","delayedRequests":"ask"}"#)
    #expect(try ferry.act("resume", id) == "running")
    let delayed = try ferry.decisionEvent(of: id, "task.willBeginDelayedRequest")
    try ferry.answer(delayed.decision, #"{"disposition":"continueLoading"}"#)
    let redirect = try ferry.decisionEvent(of: id, Self.redirect)
    try ferry.answer(redirect.decision, #"{"request":{"url":"\#(origin.url)/target"}}"#)
    let response = try ferry.decisionEvent(of: id, "dataTask.didReceiveResponse")
    try ferry.answer(response.decision, #"{"disposition":"becomeDownload"}"#)
    _ = try ferry.events("/v1/tasks/\(id)/events?after=0").read(upTo: "dataTask.didBecomeDownloadTask")
    let download = try #require(try ferry.task(id)["downloadTaskId"]?.string)
    let ended = try ferry.end(of: download)
    #expect(ended["delegate"]?["redirects"]?.string == "ask" && ended["error"] == .null)
  }

  /// A connection that was opened without a trust decision is not reused by a task whose delegate asks for one.
  @Test func `delegate of a task receives trust challenges`() throws {
    let fixture = try HandshakeFixture()
    let session = try fixture.ferry.session(FerryProcess.uncached)
    let url = "https://127.0.0.1:\(fixture.nginx.port(.good))/"
    func run(_ delegate: String) throws -> String {
      let body = #"{"kind":"data","resume":true,"request":{"url":"\#(url)"},"delegate":\#(delegate)}"#
      return try fixture.ferry.call("POST", "/v1/sessions/\(session)/tasks", body).json.id
    }
    let unasked = try run("null")
    #expect(try fixture.ferry.end(of: unasked)["error"] == .null)
    let asking = try run(#"{"sessionChallenges":"ask"}"#)
    let event = try fixture.ferry.decisionEvent(of: asking, "session.didReceiveChallenge")
    #expect(event.data["protectionSpace"]?["serverTrust"] != nil)
    try fixture.ferry.answer(event.decision, #"{"disposition":"cancelAuthenticationChallenge"}"#)
    #expect(try fixture.ferry.end(of: asking).errorCode == -999)
    #expect(try fixture.ferry.end(of: run("null"))["error"] == .null)
  }
}

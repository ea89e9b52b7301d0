import JSON
import TestSupport
import Testing

/// URLSessionTask.delegate: a task's delegate overrides its session's. Unset members have the session's values.
@Suite(.serialized, .blocking, .sharing) struct TaskDelegateTests {
  private static let redirect = "task.willPerformHTTPRedirection"
  private let place: InProcessAPI
  private let origin = TestOrigin { request, socket in
    if request.path == "/hop" {
      try socket.write(TestOrigin.reply("302 Found", Array("redirect".utf8), [("Location", "/target")]))
    } else {
      try socket.write(TestOrigin.reply("200 OK", Array(request.path.utf8)))
    }
    return true
  }

  init() throws { place = try .ofSuite() }

  /// Creates a task with its own delegate.
  private func create(
    _ path: String, _ delegate: String, in session: String, _ members: String = ""
  ) throws -> JSONValue {
    let body =
      #"{"kind":"data","resume":true,"request":{"url":"\#(origin.url + path)"},"delegate":\#(delegate)\#(members)}"#
    return try place.call("POST", "/v1/sessions/\(session)/tasks", body).json
  }

  @Test func `delegate of a task decides in place of its session`() throws {
    let session = try place.session(InProcessAPI.uncached)
    let asking = try create("/hop", #"{"redirects":"ask","decisionTimeout":50}"#, in: session)
    #expect(asking["delegate"]?.text == #"{"redirects":"ask","decisionTimeout":50}"#)
    let event = try place.decisionEvent(of: asking.id)
    // Another task of the session follows the redirect by default.
    let other = try place.run(origin.url + "/hop", kind: "data", session: session)
    #expect(other["currentRequest"]?["url"]?.string == origin.url + "/target" && other["delegate"] == .null)
    let decision = try place.decision(event.decision)
    #expect(decision["state"]?.string == "pending")
    try place.answer(event.decision, #"{"request":null}"#)
    #expect(try place.end(of: asking.id)["response"]?["status"]?.integer == 302)
  }

  @Test func `delegate of a task overrides that of its session`() throws {
    let session = try place.session(
      InProcessAPI.uncached, delegate: #"{"redirects":"ask","responses":"ask"}"#)
    let task = try create("/hop", #"{"redirects":"follow"}"#, in: session)
    // The session's delegate supplies the member that the task's delegate omits.
    let event = try place.decisionEvent(of: task.id, "dataTask.didReceiveResponse")
    #expect(event.data["response"]?["url"]?.string == origin.url + "/target")
    try place.answer(event.decision, #"{"disposition":"allow"}"#)
    #expect(try place.end(of: task.id)["error"] == .null)
    let other = try place.create(origin.url + "/hop", session: session)
    #expect(try place.decisionEvent(of: other).type == Self.redirect)
  }
}

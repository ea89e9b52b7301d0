import JSON
import TestSupport
import Testing

/// Completion handlers of background tasks, which take nothing from the delegate.
@Suite(.serialized, .blocking) struct BackgroundCompletionTests {
  @Test func `completion adds a message and the reply waits for the end`() throws {
    let ferry = try FerryProcess()
    let (delegate, completion) = (WebhookReceiver(), WebhookReceiver())
    let origin = FailingOrigin("", nil, times: 1)
    let session = try ferry.background(
      "a", hook: delegate, events: ["downloadTask.didFinishDownloading", "task.didComplete"],
      configuration: #"{"retry":{"backoff":0.1}}"#)
    let body = #"""
      {"kind":"download","resume":true,"request":{"url":"\#(origin.url)"},
       "completion":{"webhook":{"url":"\#(completion.url)"}}}
      """#
    let reply = try ferry.call(
      "POST", "/v1/sessions/\(session)/tasks", body, [("Prefer", Patience.preference)])
    #expect(reply.status == 200 && reply.json["state"]?.string == "completed", "\(reply.text)")
    #expect(reply.json["error"] == .null && reply.json["retryCount"]?.integer == 1)
    for receiver in [delegate, completion] {
      let ends = receiver.wait(for: "task.didComplete")
      #expect(ends.map { $0.json["data"]?["task"]?["id"]?.string } == [reply.json.id], "\(receiver.messages)")
    }
    #expect(delegate.wait(for: "downloadTask.didFinishDownloading").count == 1)
    #expect(Set(completion.types) == ["task.didComplete"])
  }
}

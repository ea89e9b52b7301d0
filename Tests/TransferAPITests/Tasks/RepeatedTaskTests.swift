import JSON
import Synchronization
import TestSupport
import Testing

/// `POST /v1/tasks/{task}/retry`.
@Suite(.serialized, .blocking, .sharing) struct RepeatedTaskTests {
  private let place: InProcessAPI

  init() throws { place = try .ofSuite() }

  private func retry(_ id: String, _ fields: [(String, String)] = []) throws -> HTTPReply {
    try place.call("POST", "/v1/tasks/\(id)/retry", nil, fields)
  }

  private func create(_ members: String, session: String = "ses_shared") throws -> String {
    let reply = try place.call("POST", "/v1/sessions/\(session)/tasks", "{\(members)}")
    #expect(reply.status == 201, "\(reply.text)")
    return reply.json.id
  }

  @Test(arguments: ["x", String(repeating: "x", count: 100_000)])
  func `failed task is repeated with its secrets and its body`(_ body: String) throws {
    let requests = TestOrigin { request, socket in
      try socket.write(TestOrigin.reply("200 OK", Array("any".utf8)))
      return true
    }
    let session = try place.call(
      "POST", "/v1/sessions", #"{"configuration":{"secretHeaderFields":["X-Key"]}}"#)
    let id = try create(
      #""kind":"data","resume":true,"priority":0.75,"description":"d","failOnStatus":true,"expected":{"size":1},"#
        + #""retry":{"maximumAttempts":1},"request":{"url":"\#(requests.url)","method":"POST","#
        + #""headers":{"Authorization":"Bearer t","X-Key":"k"},"body":{"text":"\#(body)"}}"#,
      session: session.json.id)
    let failed = try place.end(of: id)
    #expect(failed.errorCode == 5)
    let reply = try retry(id)
    #expect(reply.status == 201 && reply["Location"] == "/v1/tasks/\(reply.json.id)", "\(reply.text)")
    #expect(reply.json["retryOf"]?.string == id && reply.json.id != id)
    for name in [
      "priority", "description", "failOnStatus", "expected", "retry", "originalRequest", "sessionId",
    ] {
      #expect(reply.json[name] == failed[name], "\(name)")
    }
    _ = try place.end(of: reply.json.id)
    let last = try #require(requests.requests.last)
    #expect(last["Authorization"] == "Bearer t" && last["X-Key"] == "k" && last.body == Array(body.utf8))
  }

  @Test func `cancelled download continues from its resume data`() throws {
    let origin = ResumableOrigin()
    origin.change { $0.stop = 300_000 }
    let id = try place.stalled(origin.url, at: 300_000)
    _ = try place.cancelProducingResumeData(id)
    origin.change { $0.stop = nil }
    let reply = try retry(id)
    #expect(reply.status == 201)
    let task = try place.end(of: reply.json.id)
    #expect(task["error"] == .null && task.status == 206)
    #expect(origin.requests.last?["Range"] == "bytes=300000-")
    #expect(try place.body(of: task.id) == ResumableOrigin.body)
  }

  @Test func `bytes stay if the original task is deleted first`() throws {
    let origin = ResumableOrigin()
    origin.change { $0.stop = 300_000 }
    let session = try place.session(#"{"httpMaximumConnectionsPerHost":1}"#)
    func stalled() throws -> String {
      let id = try place.create(origin.url, kind: "download", session: session)
      _ = try place.poll("/v1/tasks/\(id)") { $0.received >= 300_000 }
      return id
    }
    let id = try stalled()
    _ = try place.cancelProducingResumeData(id)
    // The only connection is in use, so that the new task waits in the queue.
    let other = try stalled()
    let again = try retry(id)
    #expect(again.status == 201 && again.json["phase"]?.string == "queued", "\(again.text)")
    #expect(try place.call("DELETE", "/v1/tasks/\(id)").status == 204)
    origin.change { $0.stop = nil }
    _ = try place.act("cancel", other)
    let task = try place.end(of: again.json.id)
    #expect(task["error"] == .null && task.status == 206)
    #expect(origin.requests.last?["Range"] == "bytes=300000-")
    #expect(try place.body(of: task.id) == ResumableOrigin.body)
  }

  @Test func `waiting attempt starts now`() throws {
    let origin = FailingOrigin("503 Busy", nil, times: 1)
    let id = try create(
      #""kind":"data","resume":true,"retry":{"backoff":600},"request":{"url":"\#(origin.url)"}"#)
    _ = try place.poll("/v1/tasks/\(id)") { $0["phase"]?.string == "waitingToRetry" }
    let reply = try retry(id, [("Idempotency-Key", "k-\(id)")])
    #expect(reply.status == 200 && reply.json.id == id)
    let task = try place.end(of: id)
    #expect(task["error"] == .null && origin.count == 2)
    let repeated = try retry(id, [("Idempotency-Key", "k-\(id)")])
    #expect(repeated.status == 200 && repeated.json.id == id)
  }

  @Test func `repeated request gets the first reply`() throws {
    let id = try create(#""kind":"data","resume":true,"request":{"url":"http://10.0.0.1/"}"#)
    _ = try place.end(of: id)
    let key = [("Idempotency-Key", "k-\(id)")]
    let first = try retry(id, key)
    let second = try retry(id, key)
    #expect(first.status == 201 && second.status == 201 && first.json.id == second.json.id)
    #expect(try retry(id).json.id != first.json.id)
    #expect(try retry(first.json.id, key).status == 422)
  }

  // MARK: Refusals

  @Test func `other tasks are not retried`() throws {
    let origin = FailingOrigin("", nil, times: 0)
    let suspended = try place.create(origin.url, resume: false)
    let done = try create(#""kind":"data","resume":true,"request":{"url":"\#(origin.url)"}"#)
    #expect(try place.end(of: done)["error"] == .null)
    for (id, text) in [(suspended, "suspended"), (done, "succeeded")] {
      let reply = try retry(id)
      #expect(reply.status == 409 && reply.json["detail"]?.string?.contains(text) == true, "\(reply.text)")
    }
    #expect(try retry("tsk_019c1234-6789-7abc-8def-0123456789ab").status == 404)
    #expect(try place.call("POST", "/v1/tasks/\(done)/retry?x=1").status == 400)
  }

  @Test func `streamed and deleted bodies are not sent again`() throws {
    let stream = try create(
      #""kind":"upload","resume":true,"delegate":{},"request":{"url":"http://10.0.0.1/","body":{"stream":true}}"#
    )
    _ = try place.act("cancel", stream)
    _ = try place.end(of: stream)
    let streamed = try retry(stream)
    #expect(streamed.status == 409 && streamed.json["detail"]?.string?.contains("stream") == true)
    let file = try place.call("POST", "/v1/files", "text", [("Content-Type", "text/plain")]).json.id
    let upload = try create(
      #""kind":"upload","resume":true,"request":{"url":"http://10.0.0.1/","body":{"file":"\#(file)"}}"#)
    #expect(try place.end(of: upload).errorCode == 1)
    #expect(try retry(upload).status == 201)
    #expect(try place.call("DELETE", "/v1/files/\(file)").status == 204)
    let gone = try retry(upload)
    #expect(gone.status == 409 && gone.json["detail"]?.string?.contains("no longer exists") == true)
  }

  @Test func `invalid session accepts no retry`() throws {
    let session = try place.session()
    let id = try create(
      #""kind":"data","resume":true,"request":{"url":"http://10.0.0.1/"}"#, session: session)
    _ = try place.end(of: id)
    _ = try place.call("POST", "/v1/sessions/\(session)/invalidate", #"{"mode":"cancelTasks"}"#)
    #expect(try retry(id).status == 409)
  }
}

import JSON
import Synchronization
import TestSupport
import Testing

/// `retry` in default and ephemeral sessions.
@Suite(.serialized, .blocking, .sharing) struct RetryTests {
  private let place: InProcessAPI
  private static let quick = #""retry":{"backoff":0.001}"#

  init() throws { place = try .ofSuite() }

  /// Creates a running task with further members.
  private func create(
    _ url: String, _ members: String = quick, kind: String = "data", request: String = "",
    session: String = "ses_shared"
  ) throws -> String {
    let body =
      #"{"kind":"\#(kind)","resume":true,"request":{"url":"\#(url)"\#(request)},\#(members)}"#
    let reply = try place.call("POST", "/v1/sessions/\(session)/tasks", body)
    #expect(reply.status == 201, "\(reply.text)")
    return reply.json.id
  }

  private func session(_ type: String, _ configuration: String = "{}", delegate: String = "{}") throws
    -> String
  {
    let body = #"{"type":"\#(type)","configuration":\#(configuration),"delegate":\#(delegate)}"#
    return try place.call("POST", "/v1/sessions", body).json.id
  }

  // MARK: Attempts

  @Test(arguments: ["503 Busy", "429 Many", ""], ["data", "download", "upload"])
  func `failed attempts are repeated unseen`(_ failure: String, _ kind: String) throws {
    for type in ["default", "ephemeral"] {
      let origin = FailingOrigin(failure, nil, times: 2)
      let request = kind == "upload" ? #","method":"PUT","body":{"text":"x"}"# : ""
      let id = try create(origin.url, kind: kind, request: request, session: session(type))
      let story = try place.story(of: id)
      let responses = story.filter { $0.type == "dataTask.didReceiveResponse" }
      #expect(responses.map { $0.data["response"]?["status"]?.integer } == (kind == "download" ? [] : [200]))
      let waits = story.filter { $0.data["phase"]?.string == "waitingToRetry" }
      let status = Int64(failure.prefix(3))
      #expect(waits.count == 2 && waits.allSatisfy { $0.data["lastError"]?["status"]?.integer == status })
      let task = try place.task(id)
      #expect(task["error"] == .null && task.status == 200 && task["retryCount"]?.integer == 2)
      #expect(task["lastError"] == nil && task["nextAttemptAt"] == nil)
      #expect(try place.body(of: id) == Array("at last".utf8) && origin.count == 3)
    }
  }

  @Test func `task without retry fails at once`() throws {
    let origin = FailingOrigin("", nil, times: 1)
    let task = try place.end(of: create(origin.url, #""retry":null"#))
    #expect(task["error"]?["name"]?.string == "badServerResponse" && origin.count == 1)
  }

  @Test(arguments: [
    ("500 Error", [500], true), ("503 Busy", [500], false), ("404 Gone", [404, 410], true),
    ("503 Busy", [], false),
  ])
  func `given statuses replace the default ones`(_ failure: String, _ statuses: [Int], _ isRetried: Bool)
    throws
  {
    let origin = FailingOrigin(failure, nil, times: 1)
    let task = try place.end(of: create(origin.url, #""retry":{"backoff":0.001,"statuses":\#(statuses)}"#))
    #expect(origin.count == (isRetried ? 2 : 1) && task["error"] == .null)
    #expect(task.status == (isRetried ? 200 : Int64(failure.prefix(3))))
    #expect(task["retry"]?["statuses"]?.elements?.compactMap(\.integer) == statuses.map { Int64($0) })
  }

  @Test func `session retries idempotent requests, a task any request`() throws {
    let session = try session("default", #"{\#(Self.quick)}"#)
    let post = #","method":"POST","body":{"text":"x"}"#
    for (members, request, isRetried) in [
      (#""priority":1"#, "", true), (#""priority":1"#, post, false), (Self.quick, post, true),
      (#""retry":{"maximumAttempts":1}"#, "", false),
    ] {
      let origin = FailingOrigin("503 Busy", nil, times: 1)
      let task = try place.end(of: create(origin.url, members, request: request, session: session))
      #expect(task.status == (isRetried ? 200 : 503) && origin.count == (isRetried ? 2 : 1))
    }
  }

  @Test(arguments: ["data", "download"]) func `last attempt shows its response`(_ kind: String) throws {
    let limited = #""retry":{"maximumAttempts":2,"backoff":0.001}"#
    let origin = FailingOrigin("503 Busy", nil, times: 9)
    let task = try place.end(of: create(origin.url, limited, kind: kind))
    #expect(origin.count == 2 && task["error"] == .null && task.status == 503)
    #expect(try place.body(of: task.id) == Array("no".utf8))
    let refused = try place.end(of: create(origin.url, #"\#(limited),"failOnStatus":true"#, kind: kind))
    #expect(origin.count == 4 && refused.errorCode == 7 && refused["retryCount"]?.integer == 1)
  }

  @Test func `Retry-After beyond the resource timeout ends the task with the response`() throws {
    let origin = FailingOrigin("503 Busy", "60", times: 9)
    let short = try session("default", #"{"timeoutIntervalForResource":30}"#)
    let task = try place.end(of: create(origin.url, session: short))
    #expect(origin.count == 1 && task.status == 503 && task["error"] == .null)
    #expect(try place.story(of: task.id).count { $0.type == "dataTask.didReceiveResponse" } == 1)
  }

  @Test func `data task is not retried once its response was reported`() throws {
    let origin = TestOrigin { _, socket in
      try socket.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf")
      return false
    }
    let task = try place.end(of: create(origin.url))
    #expect(task.errorCode == -1005 && task["retryCount"]?.integer == 0 && origin.requests.count == 1)
  }

  @Test func `download continues from its bytes`() throws {
    let body = ResumableOrigin.body
    let origin = TestOrigin { request, socket in
      guard let first = request["Range"].flatMap({ Int($0.dropFirst(6).dropLast()) }) else {
        let head =
          "HTTP/1.1 200 OK\r\nContent-Length: \(body.count)\r\nETag: \"one\"\r\nAccept-Ranges: bytes\r\n\r\n"
        try socket.write(Array(head.utf8) + body[..<300_000])
        return false
      }
      let range = ("Content-Range", "bytes \(first)-\(body.count - 1)/\(body.count)")
      try socket.write(
        TestOrigin.reply("206 Partial Content", Array(body[first...]), [range, ("ETag", "\"one\"")]))
      return true
    }
    for type in ["default", "ephemeral"] {
      let task = try place.end(of: create(origin.url, kind: "download", session: session(type)))
      #expect(task["error"] == .null && task.status == 206 && task["retryCount"]?.integer == 1)
      #expect(try place.body(of: task.id) == body)
    }
    #expect(origin.requests.map { $0["Range"] == nil } == [true, false, true, false])
  }

  @Test func `retried response is not cached`() throws {
    let count = Mutex(0)
    let origin = TestOrigin { _, socket in
      let isFirst = count.withLock {
        $0 += 1; return $0 == 1
      }
      let fields = [("Cache-Control", "max-age=600")]
      try socket.write(TestOrigin.reply(isFirst ? "404 Not Found" : "200 OK", Array("x".utf8), fields))
      return true
    }
    let task = try place.end(
      of: create(origin.url, #""retry":{"backoff":0.001,"statuses":[404]}"#, session: session("default")))
    #expect(task.status == 200 && task["response"]?["fromCache"]?.bool == false)
  }

  @Test func `unexpected body is not retried`() throws {
    let origin = FailingOrigin("", nil, times: 0)
    let task = try place.end(of: create(origin.url, #"\#(Self.quick),"expected":{"size":1}"#))
    #expect(task.errorCode == 5 && origin.count == 1)
  }

  @Test func `delegate decides only about the last response`() throws {
    let asking = try session("default", delegate: #"{"responses":"ask","decisionTimeout":60}"#)
    let origin = FailingOrigin("503 Busy", nil, times: 1)
    let id = try create(origin.url, session: asking)
    let events = try place.events("/v1/tasks/\(id)/events?after=0")
    let asked = try #require(try events.read(upTo: "dataTask.didReceiveResponse").last)
    #expect(asked.data["response"]?["status"]?.integer == 200)
    let decision = try #require(asked.data["decisionId"]?.string)
    #expect(try place.call("POST", "/v1/decisions/\(decision)", #"{"disposition":"allow"}"#).status == 200)
    #expect(try place.end(of: id)["error"] == .null)
  }

  // MARK: Waiting

  private func waiting(_ origin: FailingOrigin, kind: String = "data") throws -> String {
    let id = try create(origin.url, #""retry":{"backoff":600}"#, kind: kind)
    let task = try place.poll("/v1/tasks/\(id)") { $0["phase"]?.string == "waitingToRetry" }
    #expect(task["lastError"]?["name"]?.string == "badServerResponse" && task["nextAttemptAt"]?.string != nil)
    #expect(task["response"] == .null && task["error"] == .null && task["retryCount"]?.integer == 1)
    return id
  }

  @Test func `waiting task can be cancelled`() throws {
    let origin = FailingOrigin("503 Busy", nil, times: 9)
    let id = try waiting(origin)
    _ = try place.act("cancel", id)
    #expect(try place.end(of: id).errorCode == -999 && origin.count == 1)
  }

  @Test func `suspended task still waits after it is resumed`() throws {
    let id = try waiting(FailingOrigin("", nil, times: 9), kind: "download")
    #expect(try place.act("suspend", id) == "suspended")
    #expect(try place.task(id)["nextAttemptAt"] == nil)
    #expect(try place.act("resume", id) == "running")
    #expect(try place.task(id)["phase"]?.string == "waitingToRetry")
    _ = try place.act("cancel", id)
    #expect(try place.end(of: id).errorCode == -999)
  }

  // MARK: Input

  @Test(arguments: [
    (#"{"statuses":[399]}"#, 400, "/retry/statuses/0"),
    (#"{"statuses":[429,600]}"#, 400, "/retry/statuses/1"),
    (#"{"statuses":["429"]}"#, 400, "/retry/statuses/0"), (#"{"statuses":503}"#, 400, "/retry/statuses"),
    (
      #"{"statuses":[\#(Array(repeating: "500", count: 101).joined(separator: ","))]}"#, 422,
      "/retry/statuses"
    ),
    (#"{"maximumAttempts":0}"#, 400, "/retry/maximumAttempts"), (#"{"backoff":0}"#, 400, "/retry/backoff"),
    (#"{"attempts":1}"#, 400, "/retry/attempts"), ("[]", 400, "/retry"),
  ])
  func `wrong retry is refused`(_ retry: String, _ status: Int, _ pointer: String) throws {
    let task = #"{"kind":"data","request":{"url":"http://127.0.0.1:1/"},"retry":\#(retry)}"#
    for (path, body, prefix) in [
      ("/v1/tasks", task, ""),
      ("/v1/sessions", #"{"type":"default","configuration":{"retry":\#(retry)}}"#, "/configuration"),
    ] {
      let reply = try place.call("POST", path, body)
      #expect(reply.status == status, "\(reply.text)")
      #expect(reply.json["errors"]?.elements?.first?["pointer"]?.string == prefix + pointer)
    }
  }

  @Test func `streamed body refuses retry`() throws {
    let body =
      #"{"kind":"upload","delegate":{},"request":{"url":"http://127.0.0.1:1/","body":{"stream":true}},\#(Self.quick)}"#
    let reply = try place.call("POST", "/v1/tasks", body)
    #expect(reply.status == 400 && reply.json["errors"]?.elements?.first?["pointer"]?.string == "/retry")
  }
}

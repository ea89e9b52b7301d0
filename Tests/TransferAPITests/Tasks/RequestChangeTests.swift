import JSON
import TestSupport
import Testing

/// PATCH of `request.url` and `request.headers`.
@Suite(.serialized, .blocking, .sharing) struct RequestChangeTests {
  private let place: InProcessAPI
  private let origin = TestOrigin { request, socket in
    if request.path == "/silent" { return try socket.readSome() != nil }
    if request.path == "/cut" { return false }
    try socket.write(TestOrigin.reply("200 OK", Array(request.path.utf8)))
    return true
  }

  init() throws { place = try .ofSuite() }

  private func patch(_ id: String, _ request: String, _ fields: [(String, String)] = []) throws -> HTTPReply {
    try place.call("PATCH", "/v1/tasks/\(id)", #"{"request":\#(request)}"#, fields)
  }

  private func create(_ members: String, session: String = "ses_shared") throws -> String {
    let reply = try place.call("POST", "/v1/sessions/\(session)/tasks", "{\(members)}")
    #expect(reply.status == 201, "\(reply.text)")
    return reply.json.id
  }

  private func run(_ id: String) throws -> JSONValue {
    #expect(try place.act("resume", id) == "running")
    return try place.end(of: id)
  }

  // MARK: Effects

  @Test(arguments: ["default", "ephemeral"]) func `suspended task uses the changed request`(_ type: String)
    throws
  {
    let session = try place.call(
      "POST", "/v1/sessions",
      #"{"type":"\#(type)","configuration":{"secretHeaderFields":["X-Key"]}}"#
    ).json.id
    let id = try create(
      #""kind":"data","request":{"url":"\#(origin.url)/old","headers":{"Authorization":"Bearer t","X-Key":"k","X-Old":"1"}}"#,
      session: session)
    let before = try place.call("GET", "/v1/tasks/\(id)")
    let reply = try patch(
      id,
      #"{"url":"\#(origin.url)/new?sig=2","headers":{"Authorization":"(redacted)","x-key":"(redacted)","X-Old":"(redacted)","X-New":"2"}}"#,
      [("If-Match", before["ETag"] ?? "")])
    #expect(reply.status == 200, "\(reply.text)")
    #expect(reply.json["originalRequest"] == before.json["originalRequest"])
    let current = try #require(reply.json["currentRequest"])
    #expect(current["url"]?.string == "\(origin.url)/new?sig=2")
    #expect(current["headers"]?["Authorization"]?.string == "(redacted)")
    #expect(current["headers"]?["X-Old"]?.string == "1")
    #expect(try place.call("GET", "/v1/tasks/\(id)").json == reply.json && reply["ETag"] != before["ETag"])
    #expect(try patch(id, #"{"headers":{}}"#, [("If-Match", before["ETag"] ?? "")]).status == 412)
    #expect(try run(id)["error"] == .null)
    let request = try #require(origin.requests.last)
    #expect(request.path == "/new?sig=2" && request["Authorization"] == "Bearer t" && request["X-Key"] == "k")
    #expect(request["X-Old"] == "1" && request["X-New"] == "2")
  }

  @Test func `fields alone are replaced, and the rest of the request stays`() throws {
    let id = try create(
      #""kind":"upload","request":{"url":"\#(origin.url)/old","method":"PUT","headers":{"X-Old":"1"},"body":{"text":"body"}}"#
    )
    #expect(try patch(id, #"{"headers":{"Authorization":"Bearer u"}}"#).status == 200)
    #expect(try run(id)["error"] == .null)
    let request = try #require(origin.requests.last)
    #expect(request.line == "PUT /old HTTP/1.1" && request["Authorization"] == "Bearer u")
    #expect(request["X-Old"] == nil && request.body == Array("body".utf8))
  }

  @Test func `length of a streamed body stays`() throws {
    let id = try create(
      #""kind":"upload","delegate":{},"request":{"url":"\#(origin.url)/","headers":{"Content-Length":"4"},"body":{"stream":true}}"#
    )
    let reply = try patch(id, #"{"url":"\#(origin.url)/new","headers":{"X-New":"1"}}"#)
    #expect(reply.json["currentRequest"]?["headers"]?["Content-Length"]?.string == "4", "\(reply.text)")
    _ = try place.act("cancel", id)
  }

  /// The rule for redirects to another origin (RFC 9110 §15.4).
  @Test func `secrets do not follow the task to another origin`() throws {
    let other = TestOrigin { request, socket in
      try socket.write(TestOrigin.reply("200 OK", Array(request.path.utf8)))
      return true
    }
    let user = origin.url.replacing("http://", with: "http://me:secret@")
    let session = try place.call(
      "POST", "/v1/sessions", #"{"configuration":{"httpAdditionalHeaders":{"X-Token":"s"}}}"#
    ).json.id
    let id = try create(
      #""kind":"data","request":{"url":"\#(user)/","headers":{"Authorization":"Bearer t","X-A":"1"}}"#,
      session: session)
    let reply = try patch(id, #"{"url":"\#(other.url)/new"}"#)
    #expect(reply.json["currentRequest"]?["headers"]?["Authorization"] == nil && reply.status == 200)
    #expect(try run(id)["error"] == .null)
    let request = try #require(other.requests.last)
    #expect(request["X-A"] == "1" && request["Authorization"] == nil && request["X-Token"] == nil)
  }

  @Test func `waiting attempt and the repetition use the changed request`() throws {
    let id = try create(
      #""kind":"data","resume":true,"retry":{"backoff":600,"maximumAttempts":2},"request":{"url":"\#(origin.url)/cut"}"#
    )
    _ = try place.poll("/v1/tasks/\(id)") { $0["phase"]?.string == "waitingToRetry" }
    let reply = try patch(id, #"{"url":"\#(origin.url)/silent"}"#)
    #expect(reply.status == 200 && reply.json["phase"]?.string == "waitingToRetry", "\(reply.text)")
    #expect(try place.call("POST", "/v1/tasks/\(id)/retry").status == 200)
    _ = try place.poll("/v1/tasks/\(id)") { $0["phase"]?.string == "transferring" }
    let busy = try patch(id, #"{"url":"\#(origin.url)/new"}"#)
    #expect(busy.status == 409 && busy.json["detail"]?.string?.contains("transferring") == true)
    #expect(try place.act("suspend", id) == "suspended")
    #expect(try patch(id, #"{"url":"\#(origin.url)/cut"}"#).status == 200)
    #expect(try place.act("resume", id) == "running")
    let failed = try place.end(of: id)
    #expect(failed["currentRequest"]?["url"]?.string == "\(origin.url)/cut" && failed["error"] != .null)
    let ended = try patch(id, #"{"url":"\#(origin.url)/new"}"#)
    #expect(ended.status == 409 && ended.json["detail"]?.string?.contains("completed") == true)
    let repeated = try place.call("POST", "/v1/tasks/\(id)/retry")
    #expect(repeated.status == 201)
    #expect(repeated.json["originalRequest"]?["url"]?.string == "\(origin.url)/cut")
    _ = try place.act("cancel", repeated.json.id)
  }

  @Test func `queued task waits with the changed request`() throws {
    let session = try place.call(
      "POST", "/v1/sessions", #"{"configuration":{"httpMaximumConnectionsPerHost":1}}"#
    ).json.id
    let task = #""kind":"data","resume":true,"request":{"url":"\#(origin.url)/silent"}"#
    let (first, second) = (try create(task, session: session), try create(task, session: session))
    _ = try place.poll("/v1/tasks/\(first)") { $0["phase"]?.string == "transferring" }
    #expect(try place.task(second)["phase"]?.string == "queued")
    let reply = try patch(second, #"{"url":"\#(origin.url)/new"}"#)
    #expect(reply.status == 200 && reply.json["phase"]?.string == "queued", "\(reply.text)")
    _ = try place.act("cancel", first)
    let task2 = try place.end(of: second)
    #expect(task2["error"] == .null && task2["response"]?["url"]?.string == "\(origin.url)/new")
    #expect(try place.body(of: second) == Array("/new".utf8))
  }

  @Test func `task of a background session is changed for the worker`() throws {
    let session = try place.background("changed-\(origin.port)").json.id
    let id = try create(
      #""kind":"download","resume":true,"request":{"url":"\#(origin.url)/old"}"#, session: session)
    let reply = try patch(id, #"{"url":"\#(origin.url)/new"}"#)
    #expect(reply.status == 200 && reply.json["currentRequest"]?["url"]?.string == "\(origin.url)/new")
    #expect(reply.json["phase"]?.string == "queued")
    _ = try place.act("cancel", id)
  }

  // MARK: Kept bytes

  /// The validator decides, also at another path.
  @Test(arguments: ["/signed?sig=2", "/another"]) func `paused download continues its bytes`(_ path: String)
    throws
  {
    let origin = ResumableOrigin()
    origin.change { $0.stop = 300_000 }
    let id = try place.stalled(origin.url + "/signed?sig=1", at: 300_000)
    #expect(try place.act("suspend", id) == "suspended")
    origin.change { $0.stop = nil }
    #expect(try patch(id, #"{"url":"\#(origin.url)\#(path)"}"#).status == 200)
    let task = try run(id)
    #expect(task["error"] == .null && task.status == 206, "\(task)")
    let request = try #require(origin.requests.last)
    #expect(request.path == path && request["Range"] == "bytes=300000-" && request["If-Range"] == "\"one\"")
    #expect(try place.body(of: id) == ResumableOrigin.body)
  }

  @Test func `bytes of another version are dropped`() throws {
    let origin = ResumableOrigin()
    origin.change { $0.stop = 300_000 }
    let id = try place.stalled(origin.url, at: 300_000)
    #expect(try place.act("suspend", id) == "suspended")
    origin.change {
      ($0.stop, $0.rangeReply) = (nil, .otherVersion)
      $0.validators = [("ETag", "\"two\"")]
      $0.body = ResumableOrigin.otherBody
    }
    #expect(try patch(id, #"{"url":"\#(origin.url)/other"}"#).status == 200)
    let task = try run(id)
    #expect(task["error"] == .null && task.status == 200)
    #expect(try place.body(of: id) == ResumableOrigin.otherBody)
  }

  /// The client changes the link again and again while the task is resumed and suspended.
  @Test func `repeated changes of a running download lose no byte`() throws {
    let origin = ResumableOrigin()
    origin.change { $0.stop = 300_000 }
    let id = try place.stalled(origin.url, at: 300_000)
    for number in 1...5 {
      #expect(try place.act("suspend", id) == "suspended")
      #expect(try patch(id, #"{"url":"\#(origin.url)/\#(number)"}"#).status == 200)
      if number == 5 { origin.change { $0.stop = nil } }
      #expect(try place.act("resume", id) == "running")
    }
    let task = try place.end(of: id)
    #expect(task["error"] == .null && origin.requests.last?.path == "/5", "\(task)")
    #expect(try place.body(of: id) == ResumableOrigin.body)
  }

  /// The server of a resumable upload knows the received bytes under the URL of the upload.
  @Test(arguments: [false, true]) func `paused upload continues only at the same URL`(_ isMoved: Bool) throws
  {
    let origin = ResumableUploadOrigin()
    origin.set { $0.stopsAt = 200_000 }
    let id = try origin.upload(by: place, method: "PUT")
    #expect(origin.stopped.wait())
    // The informational response shows that the upload is resumable.
    _ = try place.events("/v1/tasks/\(id)/events?after=0").read(
      upTo: "task.didReceiveInformationalResponse")
    #expect(try place.act("suspend", id) == "suspended")
    let url = isMoved ? #""url":"\#(origin.url)/new","# : ""
    #expect(try patch(id, #"{\#(url)"headers":{"X-Own":"new"}}"#).status == 200)
    origin.goesOn.open()
    let task = try run(id)
    #expect(task["error"] == .null && task.status == 201, "\(task)")
    #expect(origin.bytes == ResumableUploadOrigin.contents)
    #expect(
      origin.requests
        == ["PUT /files"] + (isMoved ? ["PUT /new"] : ["HEAD /resource", "PATCH /resource"]))
    #expect(origin.fields.dropFirst().allSatisfy { $0["X-Own"] == "new" })
  }

  // MARK: Refusals

  @Test func `request that was sent and must not be repeated does not change`() throws {
    let id = try create(
      #""kind":"data","resume":true,"request":{"url":"\#(origin.url)/silent","method":"POST"}"#)
    _ = try place.poll("/v1/tasks/\(id)") { $0["phase"]?.string == "transferring" }
    #expect(try place.act("suspend", id) == "suspended")
    let reply = try patch(id, #"{"headers":{}}"#)
    #expect(reply.status == 409 && reply.json["detail"]?.string?.contains("POST") == true)
    _ = try place.act("cancel", id)
  }

  @Test func `request whose response is known does not change`() throws {
    let stalling = TestOrigin { request, socket in
      try socket.write("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n1234")
      return try socket.readSome() != nil
    }
    let id = try create(#""kind":"data","resume":true,"request":{"url":"\#(stalling.url)/"}"#)
    _ = try place.poll("/v1/tasks/\(id)") { $0.received == 4 }
    #expect(try place.act("suspend", id) == "suspended")
    let reply = try patch(id, #"{"headers":{}}"#)
    #expect(reply.status == 409 && reply.json["detail"]?.string?.contains("response") == true)
    _ = try place.act("cancel", id)
  }

  @Test(arguments: [
    (#"{"url":"ftp://a/"}"#, 400, "/request/url"), (#"{"url":"a"}"#, 400, "/request/url"),
    (#"{"url":7}"#, 400, "/request/url"), (#"{"url":null}"#, 400, "/request/url"),
    (#"{"url":"http://a/\#(String(repeating: "x", count: 70_000))"}"#, 422, "/request/url"),
    (#"{"headers":{"Host":"a"}}"#, 400, "/request/headers/Host"),
    (#"{"headers":{"Content-Length":"4"}}"#, 400, "/request/headers/Content-Length"),
    (#"{"headers":{"a b":"x"}}"#, 400, "/request/headers/a b"),
    (#"{"headers":{"A":7}}"#, 400, "/request/headers/A"), (#"{"headers":null}"#, 400, "/request/headers"),
    (#"{"headers":[]}"#, 400, "/request/headers"), ("{}", 400, "/request"), ("7", 400, "/request"),
    ("null", 400, "/request"),
    (#"{"headers":{"A":"\#(String(repeating: "x", count: 70_000))"}}"#, 422, "/request/headers/A"),
    (#"{"url":"http://a/","method":"GET"}"#, 400, "/request/method"),
    (#"{"url":"http://a/","body":{"text":"x"}}"#, 400, "/request/body"),
    (#"{"url":"http://a/","httpMethod":"GET"}"#, 400, "/request/httpMethod"),
    (#"{"url":"http://a/","timeoutInterval":7}"#, 400, "/request/timeoutInterval"),
    (#"{"headers":{"X-Api-Key":"(redacted)"}}"#, 422, "/request/headers/X-Api-Key"),
    (
      #"{"url":"http://other.test/","headers":{"Authorization":"(redacted)"}}"#, 422,
      "/request/headers/Authorization"
    ),
  ])
  func `wrong change is refused`(_ request: String, _ status: Int, _ pointer: String) throws {
    let id = try create(
      #""kind":"data","request":{"url":"\#(origin.url)/","headers":{"Authorization":"Bearer t"}}"#)
    let before = try place.task(id)
    let reply = try patch(id, request)
    #expect(reply.status == status, "\(reply.text)")
    #expect(reply.json["errors"]?.elements?.map { $0["pointer"]?.string } == [pointer], "\(reply.text)")
    #expect(try place.task(id) == before)
  }
}

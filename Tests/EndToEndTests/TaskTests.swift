import JSON
import TestSupport
import Testing

/// The main job: create, resume, watch, fetch.
@Suite(.serialized, .blocking, .sharing) struct TaskTests {
  private let ferry: FerryProcess
  private let origin = TestOrigin { request, socket in
    switch request.path {
    case "/hello":
      try socket.write(TestOrigin.reply("200 OK", Array("hello".utf8), [("Content-Type", "text/plain")]))
    case "/missing": try socket.write(TestOrigin.reply("404 Not Found", Array("gone".utf8)))
    case "/empty": try socket.write(TestOrigin.reply("200 OK"))
    case "/echo": try socket.write(TestOrigin.reply("200 OK", Array("\(request.line)\n".utf8) + request.body))
    case "/silent": return (try socket.readSome()) != nil
    case "/redirect": try socket.write(TestOrigin.reply("302 Found", [], [("Location", "/hello")]))
    case "/loop": try socket.write(TestOrigin.reply("302 Found", [], [("Location", "/loop")]))
    case "/large": try socket.write(TestOrigin.reply("200 OK", Self.large))
    case "/half":
      try socket.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\nX-A: b\r\n\r\nhalf")
      return (try socket.readSome()) != nil
    case "/cut":
      try socket.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
      return false
    default: try socket.write(TestOrigin.reply("200 OK", Array(request.path.utf8)))
    }
    return true
  }
  private static let large = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }

  init() throws { ferry = try .ofSuite() }

  /// URLSessionTask.response: from its head on, whatever the kind.
  @Test(arguments: ["data", "download"]) func aRunningTaskShowsTheResponse(_ kind: String) throws {
    let task = #"{"kind":"\#(kind)","resume":true,"request":{"url":"\#(origin.url)/half"}}"#
    let id = try ferry.call("POST", "/v1/tasks", task).json.id
    let running = try ferry.poll("/v1/tasks/\(id)") { $0["response"] != .null }
    #expect(running["state"]?.string == "running" && running["response"]?["status"]?.integer == 200)
    #expect(running["response"]?["headers"]?["X-A"]?.string == "b")
    #expect(running["progress"]?["countOfBytesExpectedToReceive"]?.integer == 10)
    _ = try ferry.act("cancel", id)
  }

  /// A HEAD's response tells the length of what it does not bring.
  @Test func aHeadExpectsNothing() throws {
    let task = try ferry.run(origin.url + "/hello", kind: "data", request: #","method":"HEAD""#)
    #expect(task["response"]?["expectedContentLength"]?.integer == 5)
    #expect(task["progress"]?["countOfBytesExpectedToReceive"]?.integer == 0)
  }

  @Test func downloadFromCreationToBody() throws {
    let session = try ferry.session()
    let created = try ferry.call(
      "POST", "/v1/sessions/\(session)/tasks",
      #"{"kind":"download","description":"d","request":{"url":"\#(origin.url)/hello","headers":{"X-A":"b"}}}"#
    )
    #expect(created.status == 201)
    let id = try #require(created.json["id"]?.string)
    #expect(created["Location"] == "/v1/tasks/\(id)")
    #expect(created.json["state"]?.string == "suspended" && created.json["taskIdentifier"]?.integer == 1)
    #expect(origin.requests.isEmpty)
    let events = try ferry.events("/v1/tasks/\(id)/events?after=0")
    #expect(try ferry.call("POST", "/v1/tasks/\(id)/resume").status == 200)
    let seen = try events.read(upTo: "task.didComplete")
    #expect(
      seen.map(\.type) == [
        "task.didCreate", "task.didChangeState", "task.didChangeState", "downloadTask.didWriteData",
        "downloadTask.didFinishDownloading",
        "task.didFinishCollectingMetrics", "task.didComplete",
      ])
    #expect(seen.compactMap(\.id) == seen.compactMap(\.id).sorted())
    let task = try ferry.call("GET", "/v1/tasks/\(id)")
    #expect(task.json["state"]?.string == "completed" && task.json["error"] == .null)
    #expect(task.json["response"]?["mimeType"]?.string == "text/plain")
    #expect(task.json["progress"]?["countOfBytesReceived"]?.integer == 5)
    let sha = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
    #expect(task.json["body"]?["sha256"]?.string == sha)
    #expect(try ferry.call("GET", "/v1/tasks/\(id)/body").text == "hello")
    #expect(origin.requests.first?["X-A"] == "b")
    let metrics = try ferry.call("GET", "/v1/tasks/\(id)/metrics").json
    #expect(metrics["transactionMetrics"]?.elements?.count == 1 && metrics["redirectCount"]?.integer == 0)
  }

  @Test func dataTaskTellsItsResponse() throws {
    let session = try ferry.session()
    let task = try ferry.run(origin.url + "/hello", kind: "data", session: session, query: "?include=body")
    #expect(task["body"]?["text"]?.string == "hello")
    let types = try ferry.events(
      "/v1/sessions/\(session)/events?after=0&types=dataTask.didReceiveResponse,task.didComplete"
    )
    .read(upTo: "task.didComplete").map(\.type)
    #expect(types == ["dataTask.didReceiveResponse", "task.didComplete"])
  }

  @Test func httpStatusIsNoErrorAndEmptyBodyIsABody() throws {
    let missing = try ferry.run(origin.url + "/missing", query: "?include=body")
    #expect(missing["error"] == .null && missing["response"]?["status"]?.integer == 404)
    #expect(missing["body"]?["text"]?.string == "gone")
    let empty = try ferry.run(origin.url + "/empty")
    #expect(empty["body"]?["size"]?.integer == 0)
    #expect(try ferry.call("GET", "/v1/tasks/\(empty["id"]?.string ?? "")/body").status == 200)
  }

  @Test func requestBodyAndMethodAreSent() throws {
    for (method, body, sent) in [
      ("POST", #","body":{"text":"héy"}"#, "héy"), ("PUT", #","body":{"base64":"AQID"}"#, "\u{1}\u{2}\u{3}"),
      ("DELETE", "", ""), ("POST", "", ""),
    ] {
      let task = try ferry.run(
        origin.url + "/echo", kind: "data", request: #","method":"\#(method)"\#(body)"#,
        query: "?include=body")
      #expect(task["body"]?["text"]?.string == "\(method) /echo HTTP/1.1\n\(sent)")
    }
    #expect(origin.requests.last?["Content-Type"] == nil)
    let get = try ferry.run(origin.url + "/echo", request: #","body":{"text":"x"}"#)
    #expect(get["error"]?["code"]?.integer == -1103)
  }

  @Test func largeBodyIsAFileAndServedInRanges() throws {
    let task = try ferry.run(origin.url + "/large")
    let body = "/v1/tasks/\(try #require(task["id"]?.string))/body"
    #expect(task["body"]?["size"]?.integer == 1_000_000)
    let whole = try ferry.call("GET", body)
    #expect(whole.body == Self.large && whole["Repr-Digest"]?.hasPrefix("sha-256=:") == true)
    let tag = try #require(whole["ETag"])
    let part = try ferry.call("GET", body, nil, [("Range", "bytes=10-19")])
    #expect(part.status == 206 && part.body == Array(Self.large[10..<20]))
    #expect(part["Content-Range"] == "bytes 10-19/1000000" && part["Repr-Digest"] == whole["Repr-Digest"])
    #expect(try ferry.call("GET", body, nil, [("Range", "bytes=-5")]).body == Array(Self.large.suffix(5)))
    let beyond = try ferry.call("GET", body, nil, [("Range", "bytes=1000000-")])
    #expect(beyond.status == 416 && beyond["Content-Range"] == "bytes */1000000")
    let stale = try ferry.call("GET", body, nil, [("Range", "bytes=0-1"), ("If-Range", "\"other\"")])
    #expect(stale.status == 200)
    #expect(try ferry.call("GET", body, nil, [("If-None-Match", tag)]).status == 304)
    let head = try ferry.call("HEAD", body)
    #expect(head.status == 200 && head["Content-Length"] == "1000000")
    #expect(try ferry.call("DELETE", body).status == 204)
    #expect(try ferry.call("GET", body).status == 404)
    #expect(try ferry.call("GET", "/v1/tasks/\(task["id"]?.string ?? "")").json["body"] == .null)
    #expect(try ferry.call("GET", "/v1/tasks/\(task["id"]?.string ?? "")/metrics").status == 200)
  }

  @Test func redirectsAreFollowedAndTold() throws {
    let session = try ferry.session()
    let task = try ferry.run(origin.url + "/redirect", session: session)
    #expect(task["response"]?["url"]?.string == origin.url + "/hello")
    #expect(task["currentRequest"]?["url"]?.string == origin.url + "/hello")
    #expect(task["originalRequest"]?["url"]?.string == origin.url + "/redirect")
    let events = try ferry.events("/v1/sessions/\(session)/events?after=0").read(upTo: "task.didComplete")
    #expect(events.map(\.type).contains("task.willPerformHTTPRedirection"))
    let loop = try ferry.run(origin.url + "/loop")
    #expect(loop["error"]?["code"]?.integer == -1007)
  }

  @Test func connectionThatIsCutIsAnError() throws {
    #expect(try ferry.run(origin.url + "/cut")["error"]?["name"]?.string == "networkConnectionLost")
  }

  @Test func cancelEndsATaskInEveryState() throws {
    func create(_ resume: Bool) throws -> String {
      let body = #"{"kind":"data","resume":\#(resume),"request":{"url":"\#(origin.url)/silent"}}"#
      return try ferry.call("POST", "/v1/tasks", body).json["id"]?.string ?? ""
    }
    for resume in [false, true] {
      let id = try create(resume)
      if resume { _ = try ferry.poll("/v1/tasks/\(id)") { $0["phase"]?.string == "transferring" } }
      let reply = try ferry.call("POST", "/v1/tasks/\(id)/cancel", #"{"producingResumeData":true}"#)
      #expect(reply.status == 200 && reply.json["resumeData"] == .null)
      let task = try ferry.poll("/v1/tasks/\(id)") { $0["state"]?.string == "completed" }
      #expect(task["error"]?["code"]?.integer == -999)
      // The end is final.
      #expect(try ferry.call("POST", "/v1/tasks/\(id)/resume").json["state"]?.string == "completed")
      #expect(try ferry.call("POST", "/v1/tasks/\(id)/cancel").json["state"]?.string == "completed")
    }
  }

  @Test func timeoutsEndATaskUnlessItIsSuspended() throws {
    let idle = try ferry.run(origin.url + "/silent", request: #","timeoutInterval":0.4"#)
    #expect(idle["error"]?["code"]?.integer == -1001)
    let session = try ferry.session(#"{"timeoutIntervalForResource":0.6}"#)
    #expect(try ferry.run(origin.url + "/silent", session: session)["error"]?["code"]?.integer == -1001)
    let body =
      #"{"kind":"data","resume":true,"request":{"url":"\#(origin.url)/silent","timeoutInterval":0.6}}"#
    let id = try ferry.call("POST", "/v1/tasks", body).json["id"]?.string ?? ""
    #expect(try ferry.call("POST", "/v1/tasks/\(id)/suspend").json["state"]?.string == "suspended")
    #expect(
      try ferry.run(origin.url + "/silent", request: #","timeoutInterval":1.2"#)["error"]?["code"]?.integer
        == -1001)
    #expect(try ferry.call("GET", "/v1/tasks/\(id)").json["state"]?.string == "suspended")
    _ = try ferry.call("POST", "/v1/tasks/\(id)/resume")
    let ended = try ferry.poll("/v1/tasks/\(id)") { $0["state"]?.string == "completed" }
    #expect(ended["error"]?["code"]?.integer == -1001)
  }

  @Test func preferWaitGivesTheEndOrTheRunningTask() throws {
    let running = try ferry.call(
      "POST", "/v1/tasks", #"{"kind":"data","resume":true,"request":{"url":"\#(origin.url)/silent"}}"#,
      [("Prefer", "wait=0.3")])
    #expect(running.status == 202 && running.json["state"]?.string == "running" && running["Location"] != nil)
    let done = try ferry.call(
      "POST", "/v1/tasks", #"{"kind":"data","resume":true,"request":{"url":"\#(origin.url)/hello"}}"#,
      [("Prefer", "respond-async, wait=20")])
    #expect(done.status == 200 && done.json["state"]?.string == "completed")
    #expect(done["Preference-Applied"] == "wait=20")
  }
}

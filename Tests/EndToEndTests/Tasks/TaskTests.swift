import JSON
import TestSupport
import Testing

/// The basic life of a task: create, resume, watch, and read its body.
@Suite(.serialized, .blocking, .sharing) struct TaskTests {
  private let ferry: FerryProcess
  private let origin = TestOrigin { request, socket in
    let body = request.path == "/large" ? Self.large : Array("hello".utf8)
    try socket.write(TestOrigin.reply("200 OK", body, [("Content-Type", "text/plain")]))
    return true
  }
  private static let large = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }

  init() throws { ferry = try .ofSuite() }

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
    try events.catchUp()
    #expect(try ferry.call("POST", "/v1/tasks/\(id)/resume").status == 200)
    let seen = try events.read(upTo: "task.didComplete")
    #expect(
      seen.map(\.type) == [
        "task.didChangeState", "task.didChangeState", "downloadTask.didWriteData",
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
}

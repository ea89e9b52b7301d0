import HTTPTypes
import JSON
import TestSupport
import Testing

@testable import TransferAPI

/// `If-Match` on reads (RFC 9110 §13.1.1), and the precedence of conditions (§13.2.2).
@Suite(.serialized, .blocking, .sharing) struct PreconditionTests {
  private let place: InProcessAPI
  private let origin = TestOrigin { request, socket in
    if request.path == "/endless" {
      try socket.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")
      return try socket.readSome() != nil
    }
    try socket.write(TestOrigin.reply("200 OK", Pattern.bytes(1000)))
    return true
  }

  init() throws { place = try .ofSuite() }

  @Test(arguments: ["GET", "HEAD"]) func `If Match is honoured on tagged reads`(_ method: String) throws {
    let task = try place.run(origin.url + "/").id
    for target in [
      "/v1/tasks/\(task)", "/v1/tasks/\(task)/body", "/v1/tasks/\(task)/metrics", "/v1/sessions",
      "/v1/sessions/ses_shared", "/v1/sessions/ses_shared/tasks", "/v1/sessions/ses_shared/credentials",
    ] {
      func status(_ fields: (String, String)...) throws -> Int {
        try place.call(method, target, nil, fields).status
      }
      let tag = try #require(try place.call("GET", target)["ETag"], "\(target)")
      #expect(try status(("If-Match", tag)) == 200, "\(target)")
      #expect(try status(("If-Match", "*")) == 200, "\(target)")
      #expect(try status(("If-Match", "\"x\",\(tag)")) == 200, "\(target)")
      #expect(try status(("If-Match", "\"x\"")) == 412, "\(target)")
      #expect(try status(("If-Match", "W/" + tag)) == 412, "\(target): weak tags never match here")
      #expect(try status(("If-Match", tag), ("If-None-Match", tag)) == 304, "\(target)")
      #expect(try status(("If-Match", "\"x\""), ("If-None-Match", tag)) == 412, "\(target)")
    }
    let other = [("If-Match", "\"x\"")]
    let missing = "/v1/tasks/tsk_01940000-0000-7000-8000-000000000000"
    #expect(try place.call(method, missing, nil, other).status == 404)
    // A range of another version gets no bytes of this version.
    for range in ["bytes=0-1", "bytes=5000-"] {
      let reply = try place.call(method, "/v1/tasks/\(task)/body", nil, other + [("Range", range)])
      #expect(reply.status == 412 && reply["Content-Range"] == nil)
    }
  }

  @Test func `resource without a tag matches only a star`() throws {
    let created = try place.call(
      "POST", "/v1/tasks", #"{"kind":"data","resume":true,"request":{"url":"\#(origin.url)/endless"}}"#)
    let path = "/v1/tasks/\(created.json.id)"
    _ = try place.poll(path) { $0["response"] != .null }
    for target in [path + "/body", path + "/events"] {
      #expect(try place.call("HEAD", target, nil, [("If-Match", "\"x\"")]).status == 412, "\(target)")
      #expect(try place.call("HEAD", target, nil, [("If-Match", "*")]).status == 200, "\(target)")
    }
    #expect(try place.call("POST", path + "/cancel").status == 200)
  }

  /// A body and a stream have a fixed type. `Accept` is checked only for types that the API itself generates.
  @Test func `body or stream is served whatever Accept says`() throws {
    let task = try place.run(origin.url + "/").id
    let path = "/v1/tasks/\(task)"
    let file = try place.store(Pattern.bytes(10))
    for accept in ["text/html", "application/json", "image/*;q=0.1", "*/*;q=0"] {
      let fields = [("Accept", accept)]
      #expect(try place.call("GET", path + "/body", nil, fields).body == Pattern.bytes(1000), "\(accept)")
      // For a client that accepts JSON only, the reply describes the file.
      let isJSON = accept == "application/json"
      let read = try place.call("GET", "/v1/files/\(file)", nil, fields)
      #expect(isJSON ? read.json.id == file : read.body == Pattern.bytes(10), "\(accept)")
      // A client that accepts JSON gets a page of events.
      for target in [path + "/events", "/v1/sessions/ses_shared/events", "/v1/events"] {
        let reply = try place.call("HEAD", target, nil, fields)
        #expect(reply.status == 200, "\(accept)")
        #expect(reply["Content-Type"] == (isJSON ? "application/json" : "text/event-stream"), "\(accept)")
      }
    }
    for target in [path, path + "/metrics", "/v1/files", "/v1/sessions"] {
      #expect(try place.call("GET", target, nil, [("Accept", "text/html")]).status == 406, "\(target)")
    }
  }
}

import JSON
import TestSupport
import Testing

/// Oversized messages from clients and origins. Each gets a reply or an error, and disturbs no other message.
@Suite(.serialized, .blocking, .sharing) struct ExcessiveMessageTests {
  private let ferry: FerryProcess

  init() throws { ferry = try .ofSuite() }

  private func origin(_ head: String) -> TestOrigin {
    TestOrigin { _, socket in
      try? socket.write("HTTP/1.1 200 OK\r\n\(head)Content-Length: 2\r\n\r\nok")
      return false
    }
  }

  @Test func `batch of too many lines is answered up to the limit`() throws {
    let line = #"{"kind":"data","request":{"url":"http://127.0.0.1:1/"}}"#
    let body = line + "\n" + String(repeating: #"{"kind":"data"}"# + "\n", count: 29_999)
    let reply = try ferry.call("POST", "/v1/tasks", body, [("Content-Type", "application/x-ndjson")])
    let lines = reply.lines
    #expect(reply.status == 200 && lines.count == 20_001)
    #expect(lines.first?.id.hasPrefix("tsk_") == true)
    #expect(lines.last?["status"]?.integer == 413 && lines.last?["line"]?.integer == 20_001)
    #expect(lines.dropFirst().dropLast().allSatisfy { $0["status"]?.integer == 400 })
    #expect(try ferry.call("GET", "/v1/sessions/ses_shared/tasks").json["items"]?.elements?.count == 1)
  }

  @Test func `body announced as too large is refused at once`() throws {
    let client = try HTTPClient(port: ferry.port)
    try client.socket.write(
      "POST /v1/tasks HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-ndjson\r\n"
        + "Content-Length: 67108865\r\n\r\n")
    #expect(try client.readReply().status == 413)
    let large = try HTTPClient(port: ferry.port)
    let body = [UInt8](repeating: 0x20, count: 9 << 20)
    let reply = try large.send("POST", "/v1/tasks", body, [("Content-Type", "application/json")])
    #expect(reply.status == 413 && reply.json["type"]?.string == "/problems/payload-too-large")
  }

  @Test func `oversized content type of an origin is replaced`() throws {
    let origin = origin("Content-Type: text/plain; a=\(String(repeating: "x", count: 90_000))\r\n")
    let task = try ferry.run(origin.url)
    #expect(task["error"] == .null)
    let body = try ferry.call("GET", "/v1/tasks/\(task.id)/body")
    #expect(body.status == 200 && body.text == "ok" && body["Content-Type"] == "application/octet-stream")
  }

  @Test(arguments: ["data", "download"]) func `head with too many fields is an error`(_ kind: String) throws {
    let many = origin((0..<8000).map { "X\($0): y\r\n" }.joined())
    let task = try ferry.run(many.url, kind: kind)
    #expect(task.errorCode == -1017 && task["response"] == .null)
    #expect(task["error"]?["message"]?.string == "the head of the response is too large")
    let some = origin((0..<900).map { "X\($0): y\r\n" }.joined())
    let other = try ferry.run(some.url, kind: kind)
    #expect(other["error"] == .null && other["response"]?["headers"]?.members?.count == 901)
  }

  @Test func `endless trailer fields and informational responses are errors`() throws {
    let trailers = TestOrigin { _, socket in
      try? socket.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n")
      for _ in 0..<100_000 { try? socket.write("X-T: \(String(repeating: "t", count: 100))\r\n") }
      return false
    }
    let hints = TestOrigin { _, socket in
      for _ in 0..<10_000 { try? socket.write("HTTP/1.1 103 Early Hints\r\n\r\n") }
      return false
    }
    for origin in [trailers, hints] {
      let task = try ferry.run(origin.url)
      #expect(task.errorCode == -1017, "\(task.text)")
    }
  }

  @Test func `fields of clients are limited`() throws {
    let fields = (0..<1001).map { #""X-\#($0)":"y""# }.joined(separator: ",")
    let large = #""X-A":"\#(String(repeating: "a", count: 70_000))""#
    for (fields, place) in [(fields, ""), (large, "/X-A")] {
      let task = try ferry.call(
        "POST", "/v1/tasks", #"{"kind":"data","request":{"url":"http://a.test/","headers":{\#(fields)}}}"#)
      #expect(task.status == 422)
      #expect(task.json["errors"]?.elements?.map { $0["pointer"]?.string } == ["/request/headers" + place])
      let session = try ferry.call(
        "POST", "/v1/sessions", #"{"configuration":{"httpAdditionalHeaders":{\#(fields)}}}"#)
      #expect(
        session.json["errors"]?.elements?.map { $0["pointer"]?.string }
          == ["/configuration/httpAdditionalHeaders" + place])
    }
  }

  @Test func `null is refused if a member must not be null`() throws {
    let session = try ferry.session()
    let path = "/v1/sessions/\(session)/credentials"
    _ = try ferry.call(
      "PUT", path, #"{"protectionSpace":{"host":"a.test"},"credential":{"user":"u","password":"p"}}"#)
    let task = try ferry.create("http://a.test/", session: session, resume: false)
    let calls = [
      ("DELETE", path, #"{"protectionSpace":null}"#, "/protectionSpace"),
      (
        "PUT", path, #"{"protectionSpace":null,"credential":{"user":"u","password":"p"}}"#, "/protectionSpace"
      ),
      ("POST", "/v1/tasks/\(task)/cancel", #"{"producingResumeData":null}"#, "/producingResumeData"),
      ("POST", "/v1/sessions/\(session)/invalidate", #"{"mode":null}"#, "/mode"),
      (
        "POST", "/v1/reachability", #"{"url":"http://127.0.0.1:1/","timeoutInterval":null}"#,
        "/timeoutInterval"
      ),
      ("POST", "/v1/files", #"{"fromTask":null}"#, "/fromTask"),
      ("POST", "/v1/configurations", #"{"name":null,"configuration":{}}"#, "/name"),
      ("POST", "/v1/configurations", #"{"name":"n","configuration":null}"#, "/configuration"),
      ("PUT", "/v1/sessions/\(session)/cookies", #"{"items":null}"#, "/items"),
      ("PUT", "/v1/sessions/\(session)/cookies", #"{"name":"a","value":"b","domain":null}"#, "/domain"),
    ]
    for (method, path, body, pointer) in calls {
      let reply = try ferry.call(method, path, body)
      let pointers = reply.json["errors"]?.elements?.map { $0["pointer"]?.string ?? "" }
      #expect(reply.status == 400 && pointers == [pointer], "\(method) \(path) \(body): \(reply.text)")
    }
    #expect(try ferry.call("GET", path).json["items"]?.elements?.count == 1)
    #expect(try ferry.task(task)["state"]?.string == "suspended")
  }
}

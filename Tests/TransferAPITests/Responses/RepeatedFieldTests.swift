import JSON
import TestSupport
import Testing

/// Header fields that a CDN and its origin both add (RFC 9110 §5.3).
@Suite(.serialized, .blocking, .sharing) struct RepeatedFieldTests {
  private let place: InProcessAPI

  init() throws { place = try .ofSuite() }

  private static func origin(_ fields: String, _ body: String = "hello", status: String = "200 OK")
    -> TestOrigin
  {
    TestOrigin { request, socket in
      let isFirst = request.path == "/"
      let head = isFirst ? "\(status)\r\n\(fields)" : "200 OK\r\nContent-Length: 2\r\n"
      try socket.write("HTTP/1.1 \(head)\r\n\(isFirst ? body : "to")")
      return true
    }
  }

  @Test(arguments: [
    ("Location: /to\r\nLocation: /to\r\n", "/to"), ("Location: /to\r\nLocation: /other\r\n", "/to"),
  ]) func `redirect uses the first location`(_ fields: String, _ target: String) throws {
    let origin = Self.origin(fields + "Content-Length: 0\r\n", "", status: "302 Found")
    let task = try place.run(origin.url, kind: "data")
    #expect(task["error"] == .null && task["response"]?["status"]?.integer == 200)
    #expect(origin.requests.map(\.path) == ["/", target])
  }

  @Test(arguments: [
    ("Content-Length: 5\r\nContent-Length: 5\r\n", "hello"), ("Content-Length: 5, 5\r\n", "hello"),
  ]) func `equal content lengths are accepted`(_ fields: String, _ body: String) throws {
    let origin = Self.origin(fields, body)
    let task = try place.run(origin.url, kind: "data")
    #expect(task["error"] == .null && task.received == 5)
    #expect(task["response"]?["expectedContentLength"]?.integer == 5)
    #expect(task["progress"]?["countOfBytesExpectedToReceive"]?.integer == 5)
  }

  @Test func `repeated chunked coding is accepted`() throws {
    let origin = Self.origin(
      "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "5\r\nhello\r\n0\r\n\r\n")
    let task = try place.run(origin.url, kind: "data")
    #expect(task["error"] == .null)
    #expect(try place.body(of: task.id) == Array("hello".utf8))
  }

  @Test(arguments: [
    "Content-Length: 5\r\nContent-Length: 6\r\n", "Transfer-Encoding: chunked, chunked\r\n",
    "Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip\r\n",
  ]) func contradictoryFramingIsRefused(_ fields: String) throws {
    let origin = Self.origin(fields)
    #expect(try place.run(origin.url, kind: "data").errorCode == -1017)
  }

  @Test func `repeated header fields are shown as one value`() throws {
    let origin = Self.origin(
      """
      Content-Length: 5\r\nContent-Type: text/html;charset=utf-8\r\nContent-Type: text/html\r\n\
      Content-Disposition: attachment; filename=a.txt\r\nContent-Disposition: attachment; filename=a.txt\r\n\
      ETag: "a"\r\nETag: "a"\r\nVary: A\r\nVary: B\r\n
      """)
    let response = try #require(place.run(origin.url, kind: "data")["response"])
    #expect(response["mimeType"]?.string == "text/html" && response["textEncodingName"]?.string == "utf-8")
    #expect(response["suggestedFilename"]?.string == "a.txt")
    let headers = try #require(response["headers"])
    #expect(headers["ETag"]?.string == "\"a\"" && headers["Vary"]?.string == "A, B")
    #expect(headers["Content-Type"]?.string == "text/html;charset=utf-8")
    #expect(headers["Content-Disposition"]?.string == "attachment; filename=a.txt")
  }

  /// Different tags do not identify a version, so the next request is unconditional.
  @Test(arguments: [("\"a\"", "\"a\"", true), ("\"a\"", "\"b\"", false)])
  func `different tags are no validator`(_ first: String, _ second: String, _ isSent: Bool) throws {
    let origin = TestOrigin { _, socket in
      let head =
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nCache-Control: no-cache\r\nETag: \(first)\r\nETag: \(second)\r\n"
      try socket.write(head + "\r\nx")
      return true
    }
    let session = try place.call("POST", "/v1/sessions", "{}").json.id
    for _ in 0..<2 {
      let body = #"{"kind":"data","resume":true,"request":{"url":"\#(origin.url)/cached"}}"#
      let reply = try place.call(
        "POST", "/v1/sessions/\(session)/tasks", body, [("Prefer", Patience.preference)])
      #expect(reply.json["error"] == .null)
    }
    #expect(origin.requests.count == 2 && origin.requests.last?["If-None-Match"] == (isSent ? first : nil))
  }
}

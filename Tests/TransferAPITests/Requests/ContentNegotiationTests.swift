import ContentCoding
import HTTPServer
import HTTPTypes
import JSON
import Testing

@testable import TransferAPI

@Suite struct ContentNegotiationTests {
  @Test(arguments: [
    ("application/json", true), ("*/*", true), ("application/*;q=0.1", true), ("text/html", false),
    ("", true),
    ("application/json;q=0", false), ("text/html, APPLICATION/JSON", true),
    // The most specific range decides (RFC 9110 §12.5.1).
    ("application/json;q=0, */*", false), ("*/*, application/json;q=0", false),
    ("application/*;q=0, */*", false), ("application/json, */*;q=0", true),
    ("application/*;q=0, application/json;q=0.1", true), ("application/json;q=0, application/*", false),
    ("text/html;q=0, */*", true), ("application/json;q=0.000, */*;q=1", false),
    ("application/json;q=0, application/json", true), ("*/*;q=0", false),
    // `application/problem+json` alone says nothing about the types of successful replies.
    ("application/problem+json", true), ("application/problem+json, text/html", false),
    ("application/problem+json, application/json", true),
  ])
  func `Accept decides whether JSON is acceptable`(_ field: String, _ expected: Bool) {
    #expect(ContentNegotiation.accepts(field, "application/json; charset=utf-8") == expected)
  }

  @Test(arguments: [
    ("application/json", true), ("application/json, text/event-stream;q=0.5", true),
    ("application/json, */*;q=0.1", true), ("application/*", true), ("*/*", false), ("", false),
    ("text/event-stream", false), ("application/json, text/plain, */*", false), ("text/html", false),
    ("application/json, text/event-stream", false), ("application/json;q=0.5, text/event-stream", false),
    ("*/*;q=0", false), ("application/problem+json", false), ("application/json;q=x, */*", false),
  ])
  func `JSON is preferred to a stream only if Accept ranks it higher`(_ accept: String, _ expected: Bool) {
    let json = ContentNegotiation.quality(of: "application/json", in: accept)
    #expect((json > ContentNegotiation.quality(of: "text/event-stream", in: accept)) == expected)
  }

  @Test(
    arguments: [
      (nil, false), ("", false), ("gzip", true), ("deflate, GZIP ; q=0.5", true), ("x-gzip", true),
      ("gzip;q=0", false),
      ("*", true), ("*;q=0", false), ("*, gzip;q=0", false), ("gzip;q=0.0, *", false), ("br", false),
      ("identity", false), ("*;q=0, gzip", true),
    ] as [(String?, Bool)])
  func `Accept Encoding decides whether gzip is used`(_ field: String?, _ expected: Bool) {
    #expect(Compression.takesGzip(field) == expected)
  }

  private func reply(_ method: HTTPRequest.Method, _ size: Int, encoding: String?) -> ServerResponse {
    var head = HTTPRequest(method: method, scheme: "http", authority: "a", path: "/v1/tasks")
    head.headerFields[.acceptEncoding] = encoding
    let context = RequestContext(
      request: ServerRequest(
        head: head, path: "/v1/tasks", query: "", body: RequestBody([]), localPort: 1),
      parameters: [:], requestID: "r", tenant: nil)
    return ReplyBuilder.resource([UInt8](repeating: 32, count: size), for: context)
  }

  @Test func `long reply is compressed if the client accepts gzip`() throws {
    let plain = reply(.get, 20_000, encoding: nil)
    let compressed = reply(.get, 20_000, encoding: "gzip, br")
    guard case .bytes(let bytes) = compressed.body, case .bytes(let whole) = plain.body else {
      Issue.record("no bytes")
      return
    }
    #expect(Gzip.compress(whole) == bytes && bytes.count < 200)
    let (tag, weak) = (plain.head.headerFields[.eTag] ?? "", compressed.head.headerFields[.eTag] ?? "")
    #expect(weak == "W/" + tag && EntityTag.permits(weak, tag))
    #expect(compressed.head.headerFields[.contentEncoding] == "gzip")
    for reply in [plain, compressed] { #expect(reply.head.headerFields[.vary] == "Accept-Encoding") }
  }

  @Test func `short replies and replies to writes are not compressed`() {
    for reply in [reply(.get, 1000, encoding: "gzip"), reply(.post, 20_000, encoding: "gzip")] {
      #expect(reply.head.headerFields[.contentEncoding] == nil && reply.head.headerFields[.vary] == nil)
    }
  }

  @Test(arguments: [
    ("a.txt", #"attachment; filename="a.txt"; filename*=UTF-8''a.txt"#),
    ("a b", #"attachment; filename="a b"; filename*=UTF-8''a%20b"#),
    ("€.bin", #"attachment; filename="_.bin"; filename*=UTF-8''%E2%82%AC.bin"#),
    (#"a"b\c%41"#, #"attachment; filename="a_b_c_41"; filename*=UTF-8''a%22b%5Cc%2541"#),
    ("a\r\nb\u{7F}", #"attachment; filename="a__b_"; filename*=UTF-8''a%0D%0Ab%7F"#),
  ])
  func `file name is written in both forms`(_ name: String, _ expected: String) {
    #expect(TransferAPI.disposition(name) == expected)
  }
}

import HTTPServer
import HTTPTypes
import TestSupport
import Testing

/// Requests beyond a limit. The status must arrive, whatever the client still sends.
@Suite(.serialized, .blocking) struct RequestLimitTests {
  private static func text(_ count: Int) -> String { String(repeating: "x", count: count) }

  struct Head: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let head: String
    let statuses: [Int]
    init(_ name: String, _ target: String, _ fields: String, _ statuses: Int...) {
      testDescription = name
      head = "GET \(target) HTTP/1.1\r\nHost: 127.0.0.1\r\n\(fields)\r\n"
      self.statuses = statuses
    }
  }

  @Test(arguments: [
    Head("300 parameters", "/?" + (0..<300).map { "p\($0)=v" }.joined(separator: "&"), "", 200),
    Head("4,000 parameters", "/?" + String(repeating: "a&", count: 4000), "", 200),
    Head("target of 9,000 bytes", "/" + text(9000), "", 414),
    Head("target of 20,000 bytes", "/" + text(20_000), "", 414),
    Head("target of 100,000 bytes", "/" + text(100_000), "", 414),
    Head("query of 100,000 bytes", "/?" + text(100_000), "", 414),
    Head("field of 12,000 bytes", "/", "X-A: \(text(12_000))\r\n", 200),
    Head("field of 16,100 bytes", "/", "X-A: \(text(16_100))\r\n", 200),
    Head("field of 16,400 bytes", "/", "X-A: \(text(16_400))\r\n", 431),
    Head("field of 30,000 bytes", "/", "X-A: \(text(30_000))\r\n", 431),
    Head("field of 31,000 bytes", "/", "X-A: \(text(31_000))\r\n", 431),
    Head("field of 32,500 bytes", "/", "X-A: \(text(32_500))\r\n", 431),
    Head("field of 40,000 bytes", "/", "X-A: \(text(40_000))\r\n", 431),
    Head("field of 1,000,000 bytes", "/", "X-A: \(text(1_000_000))\r\n", 431),
    Head("name of 40,000 bytes", "/", "\(text(40_000)): a\r\n", 431),
    Head("98 fields", "/", String(repeating: "X-A: a\r\n", count: 98), 200),
    Head("101 fields", "/", String(repeating: "X-A: a\r\n", count: 101), 431),
    Head("2,000 fields", "/", String(repeating: "a:\r\n", count: 2000), 431),
    Head("20,000 fields", "/", String(repeating: "a:\r\n", count: 20_000), 431),
    Head("cookies of 8,000 bytes", "/", "Cookie: \(String(repeating: "a=b;", count: 2000))\r\n", 200, 431),
    Head("cookies of 15,000 bytes", "/", "Cookie: \(String(repeating: "a;", count: 7500))\r\n", 200, 431),
  ])
  func `oversized head receives a status`(_ head: Head) async throws {
    try await ServerHarness.withServer(ServerHarness.echo) { port in
      let client = try HTTPClient(port: port)
      try client.socket.write(head.head)
      let reply = try client.readReply()
      #expect(head.statuses.contains(reply.status))
      // libmicrohttpd itself refuses large cookies, and replies twice.
      if reply.status != 200, !head.head.contains("Cookie") {
        #expect(try client.socket.readSome() == nil)
      }
    }
  }

  /// The client sends everything before it reads.
  @Test(arguments: [100_000, 1_000_000, 9 * 1024 * 1024, 40_000_000]) func `refused body receives a status`(
    _ size: Int
  ) async throws {
    try await ServerHarness.withServer(ServerHarness.limited(to: 1000)) { port in
      for isChunked in [false, true] {
        let client = try HTTPClient(port: port)
        let body = [UInt8](repeating: 97, count: size)
        let framing = isChunked ? "Transfer-Encoding: chunked" : "Content-Length: \(size)"
        try client.socket.write("POST / HTTP/1.1\r\nHost: 127.0.0.1\r\n\(framing)\r\n\r\n")
        if isChunked { try client.socket.write(String(size, radix: 16) + "\r\n") }
        try client.socket.write(body)
        if isChunked { try client.socket.write("\r\n0\r\n\r\n") }
        let reply = try client.readReply()
        #expect(reply.status == 413 && reply.text == "too large")
      }
    }
  }

  @Test func `oversized body is refused before it is sent`() async throws {
    try await ServerHarness.withServer(ServerHarness.limited(to: 1000)) { port in
      let client = try HTTPClient(port: port)
      try client.socket.write("POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100000000\r\n\r\n")
      #expect(try client.readReply().status == 413)
    }
  }

  /// A long reply must wait for the request's end.
  @Test func `long reply to half a body arrives completely`() async throws {
    let handler: HTTPHandler = { request in
      _ = try? await request.body.next()
      return ServerResponse(status: .ok, body: .bytes([UInt8](repeating: 98, count: 300_000)))
    }
    try await ServerHarness.withServer(handler) { port in
      let client = try HTTPClient(port: port)
      let reply = try client.send("POST", "/", [UInt8](repeating: 97, count: 5_000_000))
      #expect(reply.status == 200 && reply.body.count == 300_000)
    }
  }

  @Test(arguments: [7000, 9000, 90_000]) func `oversized reply field is an error`(_ size: Int) async throws {
    let handler: HTTPHandler = { _ in
      ServerResponse(status: .ok, fields: [.contentType: Self.text(size)], body: .bytes([97]))
    }
    try await ServerHarness.withServer(handler) { port in
      let client = try HTTPClient(port: port)
      let long = ("X-A", Self.text(15_000))
      for fields in [[], [long]] {
        #expect(try client.send("GET", "/", nil, fields).status == (size < 8000 ? 200 : 500))
      }
    }
  }
}

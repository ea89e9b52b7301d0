import HTTPServer
import TestSupport
import Testing

/// Requests that are not HTTP/1.1, or are ambiguous. They are refused, and the bytes after them are not read (RFC 9112 §11.2).
@Suite(.serialized, .blocking) struct FramingTests {
  private static let start = "POST /first HTTP/1.1\r\nHost: 127.0.0.1\r\n"
  private static let second = "GET /second HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"

  @Test(arguments: [
    start + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    start + "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
    start + "Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
    start + "Content-Length: 5\r\nContent-Length: 5\r\n\r\nhello",
    start + "Content-Length: 5, 5\r\n\r\nhello",
    start + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    start + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "POST /first HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    start + "Content-Length: +5\r\n\r\nhello",
    start + "Content-Length: -5\r\n\r\nhello",
    start + "Content-Length: 0x5\r\n\r\nhello",
    start + "Content-Length:\r\n\r\n",
    start + "Content-Length : 5\r\n\r\n",
    start + "Content-Length\t: 5\r\n\r\n",
    start + " Content-Length: 5\r\n\r\n",
    start + "X-A: 1\r\n Content-Length: 5\r\n\r\n",
    start + "X-A:\r\n\tb\r\n\r\n",
    start + ": a\r\n\r\n",
    start + "X(A): a\r\n\r\n",
    start + "colon\r\n\r\n",
    start + "X-A: a\rb\r\n\r\n",
    start + "X-A: a\rContent-Length: 5\r\n\r\n",
    start + "X-A: a\0b\r\n\r\n",
    start + "X-A: a\0\0X-B: b\r\n\r\n",
    start + "X-A\0: a\r\n\r\n",
    start + "X-A: a\u{1}\r\n\r\n",
    start + "X-A: a\n\r\n",
    start + "X-A: a\nX-B: b\r\n\r\n",
    start + "X-A: a\r\n\n",
    start + "\n",
    "POST /first HTTP/1.1\nHost: 127.0.0.1\r\n\r\n",
    "POST /first HTTP/1.1\nHost: 127.0.0.1\n\n",
    "POST /first\r HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    "POST /fi rst HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    "POST  /first HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    "POST /first  HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    "POST /first\tHTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    "POST /first\r\nHost: 127.0.0.1\r\n\r\n",
    "POST /first HTTP/1,1\r\nHost: 127.0.0.1\r\n\r\n",
    "P(ST /first HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    "POST /first HTTP/1.1\r\n\r\n",
    start + "Host: 127.0.0.2\r\n\r\n",
  ])
  func `invalid request ends the connection`(_ request: String) async throws {
    try await ServerHarness.withServer(ServerHarness.echo) { port in
      let socket = try Socket(connectingTo: port)
      try socket.write(request + Self.second)
      let replies = try ServerHarness.everything(socket)
      #expect(replies.hasPrefix("HTTP/1.1 400 "))
      #expect(!replies.contains("/first") && !replies.contains("/second"))
      #expect(replies.lowercased().contains("\r\nconnection: close\r\n"))
    }
  }

  /// The connection stays usable.
  @Test(arguments: [
    start + "\r\n", "POST /first HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
    start + "X-A: \t a \t b\r\nX-B:b\r\nX-C: \u{e4}\u{fc}\r\nX-D:\r\n\r\n",
    start + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nX-T: 1\r\n\r\n",
    start + "Transfer-Encoding: Chunked\r\n\r\n0\r\n\r\n",
    "\r\n" + start + "Content-Length: 5\r\n\r\nhello",
    "POST http://127.0.0.1/first HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    "POST /first?a&&b=&=c?d%20+ HTTP/1.1\r\nHost: 127.0.0.1\r\nCookie: a=b; c\r\n\r\n",
  ])
  func `valid request is accepted`(_ request: String) async throws {
    try await ServerHarness.withServer(ServerHarness.echo) { port in
      let client = try HTTPClient(port: port)
      try client.socket.write(request + Self.second)
      #expect(try client.readReply().text.hasPrefix("POST /first "))
      #expect(try client.readReply().text.hasPrefix("GET /second "))
    }
  }

  /// libmicrohttpd 1.0.1 takes the LF after a chunk's extension for the chunk's first byte, and refuses the following bytes as malformed.
  /// No version may change the body.
  @Test(arguments: [
    "5;a=\"b\"\r\nhello\r\n0\r\n\r\n", "5;a\r\nhello\r\n0\r\nX-T: 1\r\n\r\n", "5\r\nhello\r\n0;a\r\n\r\n",
    "1;a\r\nh\r\n4;b=c\r\nello\r\n0\r\n\r\n", "5;a\r\nhell\r\r\n0\r\n\r\n", "5;a\r\nhell\n\r\n0\r\n\r\n",
    "6;a\r\nhell\r\n\r\n0\r\n\r\n",
  ])
  func `chunk with an extension is read correctly or refused`(_ body: String) async throws {
    try await ServerHarness.withServer(ServerHarness.echo) { port in
      let client = try HTTPClient(port: port)
      try client.socket.write(Self.start + "Transfer-Encoding: chunked\r\n\r\n" + body + Self.second)
      let reply = try client.readReply()
      if reply.status == 200 || MicroHTTPDVersion.loaded.hasPrefix("0.") {
        #expect(reply.text.hasPrefix(body.contains("6;") ? "POST /first  6 hell" : "POST /first  5 hell"))
        #expect(try client.readReply().text.hasPrefix("GET /second "))
      } else {
        #expect(reply.status == 400)
        #expect(try ServerHarness.everything(client.socket).isEmpty)
      }
    }
  }

  /// The pieces have any size. The connection may have been used before.
  @Test(arguments: [1, 2, 3, 7]) func `head may arrive in pieces`(_ size: Int) async throws {
    try await ServerHarness.withServer(ServerHarness.echo) { port in
      let client = try HTTPClient(port: port)
      for (request, status) in [(Self.second, 200), (Self.second, 200), (Self.start + "X-A: a\n\r\n", 400)] {
        let bytes = Array(request.utf8)
        for start in stride(from: 0, to: bytes.count, by: size) {
          try client.socket.write(Array(bytes[start..<min(start + size, bytes.count)]))
        }
        #expect(try client.readReply().status == status)
      }
      #expect(try client.socket.readSome() == nil)
    }
  }
}

@testable import HTTPServer
import HTTPTypes
import Synchronization
import TestSupport
import Testing

/// Replies that are ready in the middle of a body.
@Suite(.serialized, .blocking) struct EarlyReplyTests {
  private static let host = "Host: 127.0.0.1\r\n"
  private static let refusal = Array("not wanted".utf8)

  /// Reads a little, and replies.
  private static let impatient: HTTPHandler = { request in
    _ = try? await request.body.next()
    return ServerResponse(status: .conflict, body: .bytes(refusal))
  }

  /// The client sends nothing until the reply arrives, while libmicrohttpd waits for more bytes.
  @Test(arguments: ["Content-Length: 100", "Content-Length: 10000000", "Transfer-Encoding: chunked"])
  func `client that stops in its body receives the reply`(_ framing: String) async throws {
    try await ServerHarness.withServer(Self.impatient) { port in
      for expectation in ["", "Expect: 100-continue\r\n"] {
        let client = try HTTPClient(port: port)
        client.socket.setTimeout(seconds: 60)
        try client.socket.write("POST / HTTP/1.1\r\n\(Self.host)\(framing)\r\n\(expectation)\r\n")
        try client.socket.write(framing.hasPrefix("T") ? "5\r\nhello\r\n" : "hello")
        let reply = try client.readReply()
        #expect(reply.status == 409 && reply.body == Self.refusal && reply["Connection"] == "close")
        #expect(try client.socket.readSome() == nil)
      }
    }
  }

  /// The client sends everything before it reads.
  @Test(arguments: [300_000, 10_000_000, 80_000_000], [true, false])
  func `client that sends its whole body receives the reply`(_ size: Int, _ isChunked: Bool) async throws {
    try await ServerHarness.withServer(Self.impatient) { port in
      for expectation in ["", "Expect: 100-continue\r\n"] {
        let client = try HTTPClient(port: port)
        let framing = isChunked ? "Transfer-Encoding: chunked" : "Content-Length: \(size)"
        try client.socket.write("POST / HTTP/1.1\r\n\(Self.host)\(framing)\r\n\(expectation)\r\n")
        let piece = [UInt8](repeating: 97, count: 100_000)
        for _ in 0..<size / piece.count {
          if isChunked { try client.socket.write("186a0\r\n") }
          try client.socket.write(piece)
          if isChunked { try client.socket.write("\r\n") }
        }
        if isChunked { try client.socket.write("0\r\n\r\n") }
        let reply = try client.readReply()
        #expect(reply.status == 409 && reply.body == Self.refusal)
      }
    }
  }

  /// The rest of a small body is received, so that the connection can be used again.
  @Test func `connection survives a small rest of a body`() async throws {
    try await ServerHarness.withServer(Self.impatient) { port in
      let client = try HTTPClient(port: port)
      for _ in 0..<3 {
        try client.socket.write("POST / HTTP/1.1\r\n\(Self.host)Content-Length: 10\r\n\r\nhello")
        #expect(!client.socket.hasBytes(within: 100))
        try client.socket.write("world")
        #expect(try client.readReply().status == 409)
      }
    }
  }

  /// Another caller stops a read that waits for more bytes.
  @Test func `reading can be stopped`() async throws {
    let bodies = Mutex<[RequestBody]>([])
    let handler: HTTPHandler = { request in
      _ = try? await request.body.next()
      bodies.withLock { $0.append(request.body) }
      while let more = try? await request.body.next(), !more.isEmpty {}
      return ServerResponse(status: .conflict)
    }
    try await ServerHarness.withServer(handler) { port in
      let client = try HTTPClient(port: port)
      client.socket.setTimeout(seconds: 60)
      try client.socket.write("POST / HTTP/1.1\r\n\(Self.host)Content-Length: 1000000\r\n\r\nhello")
      var body: RequestBody?
      while body == nil {
        await Task.yield()
        body = bodies.withLock { $0.first }
      }
      body?.stop()
      #expect(try client.readReply().status == 409)
    }
  }

  /// A handler may allow a longer silence than the server does.
  @Test func `handler allows a longer silence`() async throws {
    var limits = HTTPServer.Limits()
    limits.idleSeconds = 1
    limits.bodyTimeouts = BodyTimeouts(silence: .seconds(1), bytesInPeriod: 1000, period: .seconds(1))
    let handler: HTTPHandler = { request in
      request.body.allowSilence(seconds: 60)
      return await ServerHarness.echo(request)
    }
    try await ServerHarness.withServer(limits: limits, handler) { port in
      let client = try HTTPClient(port: port)
      try client.socket.write("POST / HTTP/1.1\r\n\(Self.host)Content-Length: 10\r\n\r\nhello")
      #expect(!client.socket.hasBytes(within: 4000))
      try client.socket.write("world")
      #expect(try client.readReply().status == 200)
    }
  }
}

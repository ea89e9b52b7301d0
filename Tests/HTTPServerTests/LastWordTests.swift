@testable import HTTPServer
import HTTPTypes
import TestSupport
import Testing

/// Whatever a client sends, and however it ends, it can read a status.
@Suite(.serialized, .blocking) struct LastWordTests {
  private static let host = "Host: 127.0.0.1\r\n"
  private static let wholeRequests = [
    "GET / HTTP/1.1\r\n\(host)\r\n",
    "GET / HTTP/1.1\r\n\(host)Content-Length: 0\r\n\r\n",
    "POST / HTTP/1.1\r\n\(host)Content-Length: 5\r\n\r\nhello",
    "POST / HTTP/1.1\r\n\(host)Content-Length: 100000\r\n\r\n" + String(repeating: "x", count: 100_000),
    "POST / HTTP/1.1\r\n\(host)Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    "POST / HTTP/1.1\r\n\(host)Transfer-Encoding: chunked\r\n\r\n186a0\r\n"
      + String(repeating: "x", count: 100_000)
      + "\r\n0\r\n\r\n",
  ]

  /// The end of what the client sends is there before the handler takes up its work, and before it ends it.
  @Test(arguments: wholeRequests) func aClientThatEndsBehindItsRequestIsAnswered(_ request: String)
    async throws
  {
    let (starts, start) = AsyncStream.makeStream(of: Void.self)
    let handler: HTTPHandler = { request in
      for await _ in starts { break }
      return await ServerPlace.echo(request)
    }
    try await ServerPlace.withServer(handler) { port in
      for _ in 0..<10 {
        let socket = try Socket(connectingTo: port)
        try socket.write(request)
        socket.shutdownWrites()
        start.yield()
        #expect(try ServerPlace.everything(socket).hasPrefix("HTTP/1.1 200 "))
      }
    }
  }

  @Test func manyAtOnceAreAnswered() async throws {
    try await ServerPlace.withServer(ServerPlace.echo) { port in
      for _ in 0..<20 {
        for request in Self.wholeRequests.prefix(3) {
          let sockets = try (0..<8).map { _ in try Socket(connectingTo: port) }
          for socket in sockets {
            try socket.write(request)
            socket.shutdownWrites()
          }
          for socket in sockets {
            #expect(try ServerPlace.everything(socket).hasPrefix("HTTP/1.1 200 "))
          }
        }
      }
    }
  }

  @Test(arguments: [
    "GARBAGE\r\n", "GARBAGE", "\r\nGARBAGE\r\n\r\n", "GET\r\n\r\n", "\u{16}\u{3}\u{1}\r\n", "GET /",
    "GET / HTTP/1.1\r\nHo",
    "GET / HTTP/1.1\r\n\(host)", "POST / HTTP/1.1\r\n\(host)Content-Length: 5\r\n\r\nhell",
    "POST / HTTP/1.1\r\n\(host)Content-Length: 5\r\n\r\n",
    "POST / HTTP/1.1\r\n\(host)Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
    "POST / HTTP/1.1\r\n\(host)Transfer-Encoding: chunked\r\n\r\n",
  ])
  func whatIsNoRequestIsRefusedInWords(_ text: String) async throws {
    var limits = HTTPServer.Limits()
    // libmicrohttpd may overlook the end of what a client sends where it comes with bytes: then it is late.
    (limits.headSeconds, limits.idleSeconds) = (1, 1)
    try await ServerPlace.withServer(limits: limits, ServerPlace.echo) { port in
      for isFirst in [true, false] {
        let client = try HTTPClient(port: port)
        if !isFirst { #expect(try client.send("GET", "/").status == 200) }
        // The server's clock for what was sent last has milliseconds.
        #expect(!client.socket.hasBytes(within: 20))
        try client.socket.write(text)
        if !text.hasSuffix("GARBAGE\r\n") { client.socket.shutdownWrites() }
        let replies = try ServerPlace.everything(client.socket)
        #expect(replies.hasPrefix("HTTP/1.1 400 ") || replies.hasPrefix("HTTP/1.1 408 "))
        #expect(replies.components(of: "HTTP/1.1 ") == 1)
      }
    }
  }

  /// Nobody has asked for anything.
  @Test func silenceIsAnsweredBySilence() async throws {
    try await ServerPlace.withServer(ServerPlace.echo) { port in
      for isFirst in [true, false] {
        let client = try HTTPClient(port: port)
        if !isFirst { #expect(try client.send("POST", "/", Array("hello".utf8)).status == 200) }
        client.socket.shutdownWrites()
        #expect(try ServerPlace.everything(client.socket).isEmpty)
      }
    }
  }

  @Test(arguments: ["Content-Length: 100", "Transfer-Encoding: chunked"], [true, false])
  func stalledBodyGets408(_ framing: String, _ isSilent: Bool) async throws {
    var limits = HTTPServer.Limits()
    limits.bodyTimeouts =
      isSilent
      ? BodyTimeouts(silence: .seconds(1), bytesInPeriod: nil)
      : BodyTimeouts(bytesInPeriod: 1000, period: .seconds(1))
    try await ServerPlace.withServer(limits: limits, ServerPlace.echo) { port in
      let client = try HTTPClient(port: port)
      try client.socket.write("POST / HTTP/1.1\r\n\(Self.host)\(framing)\r\n\r\n")
      var sent = 0
      while !client.socket.hasBytes(within: 100), sent < 90 {
        if !isSilent || sent == 0 { try client.socket.write(framing.hasPrefix("T") ? "1\r\nx\r\n" : "x") }
        sent += 1
      }
      #expect(sent < 90)
      #expect(try client.readReply().status == 408)
      #expect(try HTTPClient(port: port).send("GET", "/").status == 200)
    }
  }

  /// The time that the handler takes is not the client's.
  @Test func aHandlerThatReadsSlowlyDoesNotCostTheClientItsTime() async throws {
    var limits = HTTPServer.Limits()
    limits.bodyTimeouts = BodyTimeouts(silence: .seconds(1), bytesInPeriod: 1000, period: .seconds(1))
    let (starts, start) = AsyncStream.makeStream(of: Void.self)
    let handler: HTTPHandler = { request in
      _ = try? await request.body.next()
      for await _ in starts { break }
      return await ServerPlace.echo(request)
    }
    try await ServerPlace.withServer(limits: limits, handler) { port in
      let client = try HTTPClient(port: port)
      try client.socket.write("POST / HTTP/1.1\r\n\(Self.host)Content-Length: 1000000\r\n\r\n")
      try client.socket.write([UInt8](repeating: 97, count: 1_000_000))
      #expect(!client.socket.hasBytes(within: 3000))
      start.yield()
      #expect(try client.readReply().status == 200)
    }
  }
}

extension String {
  fileprivate func components(of part: String) -> Int {
    var (count, rest) = (0, self[...])
    while let found = rest.firstRange(of: part) {
      count += 1
      rest = rest[found.upperBound...]
    }
    return count
  }
}

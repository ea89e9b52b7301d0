@testable import HTTPServer
import HTTPTypes
import EventLoop
import Synchronization
import TestSupport
import Testing

/// A client can read a status after any bytes and any way of closing the connection.
@Suite(.serialized, .blocking) struct ConnectionEndTests {
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

  /// The client's end arrives before the handler starts, or before it replies.
  @Test(arguments: wholeRequests) func `client that closes its side receives the reply`(_ request: String)
    async throws
  {
    let (starts, start) = AsyncStream.makeStream(of: Void.self)
    let handler: HTTPHandler = { request in
      for await _ in starts { break }
      return await ServerHarness.echo(request)
    }
    try await ServerHarness.withServer(handler) { port in
      for _ in 0..<10 {
        let socket = try Socket(connectingTo: port)
        try socket.write(request)
        socket.shutdownWrites()
        start.yield()
        #expect(try ServerHarness.everything(socket).hasPrefix("HTTP/1.1 200 "))
      }
    }
  }

  @Test func `simultaneous clients that close receive replies`() async throws {
    try await ServerHarness.withServer(ServerHarness.echo) { port in
      for _ in 0..<20 {
        for request in Self.wholeRequests.prefix(3) {
          let sockets = try (0..<8).map { _ in try Socket(connectingTo: port) }
          for socket in sockets {
            try socket.write(request)
            socket.shutdownWrites()
          }
          for socket in sockets {
            #expect(try ServerHarness.everything(socket).hasPrefix("HTTP/1.1 200 "))
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
  func `invalid request receives a status`(_ text: String) async throws {
    var limits = HTTPServer.Limits()
    // libmicrohttpd may overlook the client's end if it arrives with bytes. The request then times out.
    (limits.headSeconds, limits.idleSeconds) = (1, 1)
    try await ServerHarness.withServer(limits: limits, ServerHarness.echo) { port in
      for isFirst in [true, false] {
        let client = try HTTPClient(port: port)
        if !isFirst { #expect(try client.send("GET", "/").status == 200) }
        // The server's time of the last activity has a resolution of milliseconds.
        #expect(!client.socket.hasBytes(within: 20))
        try client.socket.write(text)
        if !text.hasSuffix("GARBAGE\r\n") { client.socket.shutdownWrites() }
        let replies = try ServerHarness.everything(client.socket)
        #expect(replies.hasPrefix("HTTP/1.1 400 ") || replies.hasPrefix("HTTP/1.1 408 "))
        #expect(replies.components(of: "HTTP/1.1 ") == 1)
      }
    }
  }

  private final class Failing: ResponseSource {
    private let reads = Mutex(0)
    private let waker = Mutex<ResponseWaker?>(nil)
    func attach(_ waker: ResponseWaker) { self.waker.withLock { $0 = waker } }
    func read(maximum: Int) -> ResponseChunk {
      let number = reads.withLock { reads in
        reads += 1
        return reads
      }
      if number == 1 { return .bytes(Array("begin".utf8)) }
      if number == 2 {
        let waker = waker.withLock { $0 }
        POSIXThread.spawn(name: "failing") { waker?.wake() }
        return .wait
      }
      return .failed
    }
    func close() {}
  }

  /// libmicrohttpd 0.9 visits a closed connection only after all connections that have been idle for longer.
  @Test(arguments: [0, 1, 3], [nil, 100 as Int64]) func `reply that fails ends its connection`(
    idle count: Int, length: Int64?
  ) async throws {
    let handler: HTTPHandler = { request in
      guard request.path == "/fails" else { return await ServerHarness.echo(request) }
      return ServerResponse(status: .ok, body: .source(Failing(), length: length))
    }
    var limits = HTTPServer.Limits()
    limits.idleSeconds = 3600
    try await ServerHarness.withServer(limits: limits, handler) { port in
      let idle = try (0..<count).map { _ in try HTTPClient(port: port) }
      for client in idle { #expect(try client.send("GET", "/").status == 200) }
      let socket = try Socket(connectingTo: port)
      try socket.write("GET /fails HTTP/1.1\r\n\(Self.host)\r\n")
      #expect(try ServerHarness.everything(socket).contains("begin"))
      for client in idle { #expect(try client.send("GET", "/").status == 200) }
    }
  }

  /// The client has requested nothing.
  @Test func `connection without a request is closed without a reply`() async throws {
    try await ServerHarness.withServer(ServerHarness.echo) { port in
      for isFirst in [true, false] {
        let client = try HTTPClient(port: port)
        if !isFirst { #expect(try client.send("POST", "/", Array("hello".utf8)).status == 200) }
        client.socket.shutdownWrites()
        #expect(try ServerHarness.everything(client.socket).isEmpty)
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
    try await ServerHarness.withServer(limits: limits, ServerHarness.echo) { port in
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

  /// The handler's time does not count against the client.
  @Test func `slow handler does not cause a timeout of the client`() async throws {
    var limits = HTTPServer.Limits()
    limits.bodyTimeouts = BodyTimeouts(silence: .seconds(1), bytesInPeriod: 1000, period: .seconds(1))
    let (starts, start) = AsyncStream.makeStream(of: Void.self)
    let handler: HTTPHandler = { request in
      _ = try? await request.body.next()
      for await _ in starts { break }
      return await ServerHarness.echo(request)
    }
    try await ServerHarness.withServer(limits: limits, handler) { port in
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

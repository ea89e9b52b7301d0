import HTTPServer
import HTTPTypes
import TestSupport
import Testing

/// Size lines of chunks that are longer than a connection's memory. libmicrohttpd 0.9.75 stalls on them silently. Version 1.0.1 refuses
/// them, but fails to do so after a `;`, and then does not report the request's end.
@Suite(.serialized, .blocking) struct StalledChunkTests {
  private static let head = "POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n"

  /// Some of these fill the memory exactly, and others leave bytes in the socket.
  @Test(arguments: ["16;", "0", "5\r\nhello\r\n16;", "5\r\nhello\r\n0\r\nX-T: "])
  func `endless size line of a chunk is refused`(_ beginning: String) async throws {
    try await ServerHarness.withServer(ServerHarness.echo) { port in
      let filling = beginning.hasSuffix("0") ? "0" : "x"
      for count in [33_000, 40_000, 200_000] {
        let socket = try Socket(connectingTo: port)
        try socket.write(Self.head + beginning)
        try? socket.write(String(repeating: filling, count: count))
        let reply = try ServerHarness.everything(socket)
        let statuses = beginning.hasSuffix(": ") ? ["431"] : ["400", "413"]
        #expect(statuses.contains { reply.hasPrefix("HTTP/1.1 \($0) ") }, "\(count)")
      }
      #expect(try HTTPClient(port: port).send("GET", "/").status == 200)
    }
  }

  /// The memory's size is unknown, so the test fills it byte by byte.
  @Test func `size line that fills the memory is refused`() async throws {
    try await ServerHarness.withServer(ServerHarness.echo) { port in
      let socket = try Socket(connectingTo: port)
      try socket.write(Self.head + "16;" + String(repeating: "x", count: 10_000))
      var sent = 10_000
      // Sent slowly, so that no byte waits in the socket when the memory is full.
      while sent < 40_000, !socket.hasBytes(within: 2) {
        try socket.write(String(repeating: "x", count: 64))
        sent += 64
      }
      #expect(try ServerHarness.everything(socket).hasPrefix("HTTP/1.1 400 "))
    }
  }

  /// The server must not cut the client, however busy the server is.
  @Test func `client that pauses between chunks is not cut`() async throws {
    try await ServerHarness.withServer(ServerHarness.echo) { port in
      let slow = try HTTPClient(port: port)
      try slow.socket.write(Self.head + "5\r\nhello\r\n1")
      let busy = try HTTPClient(port: port)
      for _ in 0..<20 {
        let body = [UInt8](repeating: 97, count: 2_000_000)
        #expect(try busy.send("POST", "/", body).status == 200)
        #expect(try busy.send("GET", "/").status == 200)
      }
      try slow.socket.write("\r\n!\r\n0\r\n\r\n")
      #expect(try slow.readReply().text == "POST /  6 hello")
    }
  }

  @Test func `stalled client that disconnects is noticed`() async throws {
    let (ends, end) = AsyncStream.makeStream(of: Bool.self)
    let handler: HTTPHandler = { request in
      do {
        while try await request.body.next() != nil {}
        end.yield(true)
      } catch {
        end.yield(false)
      }
      return ServerResponse(status: .ok)
    }
    try await ServerHarness.withServer(handler) { port in
      do {
        let socket = try Socket(connectingTo: port)
        try socket.write(Self.head + "16;" + String(repeating: "x", count: 40_000))
      }
      var iterator = ends.makeAsyncIterator()
      #expect(await iterator.next() == false)
    }
  }
}

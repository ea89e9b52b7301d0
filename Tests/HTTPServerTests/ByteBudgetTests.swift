import HTTPTypes
import TestSupport
import Testing

@testable import HTTPServer

/// Large request bodies and large replies at the same time.
@Suite(.blocking) struct ByteBudgetTests {
  private static let size = 150_000
  private static let host = "Host: a\r\n"

  /// Collects a body and returns its size or the error.
  private static let handler: HTTPHandler = { request in
    do {
      let count = try await request.body.collect(upTo: 1_000_000).count
      return ServerResponse(status: .ok, body: .bytes([UInt8](repeating: 120, count: count)))
    } catch {
      return ServerResponse(status: .tooManyRequests, body: .bytes(Array("\(error)".utf8)))
    }
  }

  private func begin(_ port: Int, _ size: Int) throws -> HTTPClient {
    let client = try HTTPClient(port: port)
    try client.socket.write("POST / HTTP/1.1\r\n\(Self.host)Content-Length: \(size)\r\n\r\n")
    return client
  }

  private func end(_ client: HTTPClient, _ size: Int) throws -> HTTPReply {
    try client.socket.write([UInt8](repeating: 97, count: size))
    return try client.readReply()
  }

  @Test func largeBodiesShareALimit() async throws {
    var limits = HTTPServer.Limits()
    limits.receivingBytes = 2 * Self.size - 2
    try await ServerHarness.withServer(
      limits: limits, Self.handler,
      serving: { server in
        let port = server.port
        let first = try begin(port, Self.size)
        // The last byte is missing. The other bodies wait until this one is counted, and the body that exceeds the limit is refused.
        try first.socket.write([UInt8](repeating: 97, count: Self.size - 1))
        while server.daemon.receiving.inUse < Self.size - 1 { await Task.yield() }
        let small = try begin(port, 1000)
        #expect(try end(small, 1000).status == 200)
        let reply = try end(begin(port, Self.size), Self.size)
        #expect(reply.status == 429 && reply.text == "noRoom")
        #expect(try end(begin(port, 60_000), 60_000).status == 200, "small bodies need no budget")
        #expect(try end(first, 1).status == 200)
        #expect(
          try end(begin(port, Self.size), Self.size).status == 200, "a finished body returns its budget")
      })
  }

  @Test func largeRepliesShareALimit() async throws {
    let room = 8 << 20
    var limits = HTTPServer.Limits()
    limits.replyBytes = room
    let handler: HTTPHandler = { request in
      ServerResponse(
        status: .ok, body: .bytes([UInt8](repeating: 120, count: request.path == "/large" ? room : 1000)))
    }
    try await ServerHarness.withServer(limits: limits, handler) { port in
      // The reply is larger than the socket buffers, so it is unfinished until it is read.
      let first = try HTTPClient(port: port)
      try first.socket.write("GET /large HTTP/1.1\r\n\(Self.host)\r\n")
      #expect(first.socket.hasBytes(within: 5000))
      let second = try HTTPClient(port: port)
      #expect(try second.send("GET", "/large").status == 429)
      #expect(try second.send("GET", "/small").status == 200)
      #expect(try first.readReply().body.count == room)
      var status = 0
      for _ in 0..<1000 where status != 200 {
        status = Int(try HTTPClient(port: port).send("GET", "/large").status)
      }
      #expect(status == 200)
    }
  }
}

import HTTPTypes
import TestSupport
import Testing

@testable import HTTPServer

/// Large bodies that are received, and large replies that are read, at the same time.
@Suite(.blocking) struct RoomTests {
  private static let size = 150_000
  private static let host = "Host: a\r\n"

  /// Collects a body, and says what came of it.
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

  @Test func bodiesShareARoom() async throws {
    var limits = HTTPServer.Limits()
    limits.receivingBytes = 2 * Self.size - 2
    try await ServerPlace.withServer(limits: limits, Self.handler) { port in
      let first = try begin(port, Self.size)
      // Its last byte is missing; the server has taken the others before anybody else comes.
      try first.socket.write([UInt8](repeating: 97, count: Self.size - 1))
      let small = try begin(port, 1000)
      #expect(try end(small, 1000).status == 200)
      // The server has taken the first one's bytes by then, or does soon.
      var reply = try end(begin(port, Self.size), Self.size)
      for _ in 0..<1000 where reply.status == 200 { reply = try end(begin(port, Self.size), Self.size) }
      #expect(reply.status == 429 && reply.text == "noRoom")
      #expect(try end(begin(port, 60_000), 60_000).status == 200, "small ones need no room")
      #expect(try end(first, 1).status == 200)
      #expect(
        try end(begin(port, Self.size), Self.size).status == 200, "what was received is not counted any more")
    }
  }

  @Test func repliesShareARoom() async throws {
    let room = 8 << 20
    var limits = HTTPServer.Limits()
    limits.replyBytes = room
    let handler: HTTPHandler = { request in
      ServerResponse(
        status: .ok, body: .bytes([UInt8](repeating: 120, count: request.path == "/large" ? room : 1000)))
    }
    try await ServerPlace.withServer(limits: limits, handler) { port in
      // More than the sockets take: the reply is under way as long as nobody reads it.
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

import EventLoop
import HTTPServer
import HTTPTypes
import Synchronization
import TestSupport
import Testing

/// A full server closes the connection that has been idle longest to admit a new client.
@Suite(.blocking) struct IdleConnectionTests {
  private static let most = 4

  /// Runs a test with a full server.
  /// - Parameter body: receives the port and a continuation that ends `/slow` requests.
  private func withFullServer(_ body: (Int, AsyncStream<Void>.Continuation) async throws -> Void) async throws
  {
    var limits = HTTPServer.Limits()
    limits.connections = Self.most
    let (ends, end) = AsyncStream.makeStream(of: Void.self)
    let handler: HTTPHandler = { request in
      if request.path == "/slow" { for await _ in ends { break } }
      return await ServerHarness.echo(request)
    }
    try await ServerHarness.withServer(limits: limits, handler) { port in
      try await body(port, end)
      end.finish()
    }
  }

  private func isOpen(_ client: HTTPClient) -> Bool { (try? client.send("GET", "/").status) == 200 }

  @Test func longestIdleConnectionIsClosedWhenFull() async throws {
    try await withFullServer { port, _ in
      let clients = try (0..<Self.most).map { _ in try HTTPClient(port: port) }
      for index in [2, 0, 3, 1, 2] { #expect(isOpen(clients[index])) }
      let late = try (0..<2).map { _ in try HTTPClient(port: port) }
      for client in late { #expect(isOpen(client)) }
      // The first and the fourth have been silent for longest.
      #expect(try clients[0].socket.readSome() == nil && clients[3].socket.readSome() == nil)
      for client in [clients[1], clients[2]] + late { #expect(isOpen(client)) }
    }
  }

  @Test func busyConnectionsAreNotClosed() async throws {
    try await withFullServer { port, end in
      let busy = try (0..<Self.most).map { _ in try HTTPClient(port: port) }
      // The connections were idle once and are busy now.
      for client in busy { #expect(isOpen(client)) }
      for client in busy { try client.socket.write("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n") }
      let late = try HTTPClient(port: port)
      try late.socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
      #expect(!late.socket.hasBytes(within: 300))
      end.yield()
      #expect(try late.readReply().status == 200, "an idle connection made room for the new one")
      for _ in busy { end.yield() }
      let statuses = busy.map { try? $0.readReply().status }
      #expect(statuses.allSatisfy { $0 == 200 }, "\(statuses)")
    }
  }
}

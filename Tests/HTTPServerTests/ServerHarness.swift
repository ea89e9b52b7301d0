import EventLoop
import HTTPServer
import HTTPTypes
import TestSupport

/// A server for one test.
enum ServerHarness {
  static func withServer(
    limits: HTTPServer.Limits = .init(), _ handler: @escaping HTTPHandler,
    _ body: (Int) async throws -> Void
  ) async throws {
    try await withServer(limits: limits, handler, serving: { server in try await body(server.port) })
  }

  static func withServer(
    limits: HTTPServer.Limits = .init(), _ handler: @escaping HTTPHandler,
    serving body: (HTTPServer) async throws -> Void
  ) async throws {
    let loop = EventLoop(name: "test-http")
    loop.start()
    let server = try HTTPServer(loop: loop, host: "127.0.0.1", port: 0, limits: limits, handler: handler)
    try await server.start()
    try await body(server)
    await server.drain(grace: .seconds(2))
    await server.stop()
    loop.stop()
  }

  /// Replies with a summary of the request.
  static let echo: HTTPHandler = { request in
    let body = (try? await request.body.collect(upTo: 10_000_000)) ?? []
    let text = Array("\(request.head.method.rawValue) \(request.path) \(request.query) \(body.count) ".utf8)
    return ServerResponse(
      status: .ok, fields: [.contentType: "text/plain"], body: .bytes(text + body.prefix(5)))
  }

  /// Accepts small bodies only.
  static func limited(to limit: Int) -> HTTPHandler {
    { request in
      do {
        _ = try await request.body.collect(upTo: limit)
        return ServerResponse(status: .ok)
      } catch {
        return ServerResponse(status: .contentTooLarge, body: .bytes(Array("too large".utf8)))
      }
    }
  }

  /// Returns all bytes until the connection ends.
  static func everything(_ socket: Socket) throws -> String {
    var bytes: [UInt8] = []
    while let more = try socket.readSome() { bytes += more }
    return String(decoding: bytes, as: UTF8.self)
  }
}

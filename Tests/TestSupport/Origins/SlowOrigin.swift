import Foundation
import Synchronization

/// An origin that slowly sends a body of known length, or the rest of the body, and counts the sent bytes.
package final class SlowOrigin: Sendable {
  package struct Answer: Sendable {
    package var path: String
    /// The offset of the first byte.
    package var first: Int
    package var condition: String?
    package var sent = 0
    /// The number of the connection, from 0.
    package var connection: Int
  }
  private struct State {
    var answers: [Answer] = []
    var connections: [ObjectIdentifier] = []
    /// The sockets are kept, so that object identifiers are not reused.
    var sockets: [Socket] = []
  }
  private final class Shared: Sendable {
    let state = Mutex(State())
    let pace: Mutex<Int>
    /// The number of bytes at the end that are held back.
    let keptBack: Mutex<Int>
    init(_ pace: Int, _ keptBack: Int) {
      self.pace = Mutex(pace)
      self.keptBack = Mutex(keptBack)
    }
  }

  package static let tag = "\"one\""
  package let body: [UInt8]
  private let shared: Shared
  private let origin: TestOrigin

  /// - Parameters:
  ///   - pace: The bytes per twentieth of a second.
  ///   - keepsBack: The number of bytes at the end that are held back until `setPace`, so that no body ends before,
  ///     however
  ///     slow the machine is.
  package init(_ size: Int = 600_000, pace: Int, keepsBack: Int = 0) {
    let (body, shared) = (NginxServer.contents(size), Shared(pace, keepsBack))
    (self.body, self.shared) = (body, shared)
    origin = TestOrigin { request, socket in
      try Self.answer(request, socket, body, shared)
      return true
    }
  }

  package var url: String { origin.url }
  package var answers: [Answer] { shared.state.withLock { $0.answers } }
  package var sent: Int { answers.reduce(0) { $0 + $1.sent } }
  package var connections: Int { shared.state.withLock { $0.connections.count } }

  /// Sets the bytes per twentieth of a second, and releases the bytes that are held back.
  package func setPace(_ pace: Int) {
    shared.pace.withLock { $0 = pace }
    shared.keptBack.withLock { $0 = 0 }
  }

  private static func answer(
    _ request: TestOrigin.Request, _ socket: Socket, _ body: [UInt8], _ shared: Shared
  ) throws {
    let wanted = request["Range"].flatMap { Int($0.dropFirst(6).dropLast()) } ?? 0
    let first = request["If-Range"] == tag ? wanted : 0
    let index = shared.state.withLock { state in
      let connection = state.connections.firstIndex(of: ObjectIdentifier(socket)) ?? state.connections.count
      if connection == state.connections.count {
        state.connections.append(ObjectIdentifier(socket))
        state.sockets.append(socket)
      }
      state.answers.append(
        .init(path: request.path, first: first, condition: request["If-Range"], connection: connection))
      return state.answers.count - 1
    }
    var head = "HTTP/1.1 \(first > 0 ? "206 Partial Content" : "200 OK")\r\nETag: \(tag)\r\n"
    head += "Accept-Ranges: bytes\r\nContent-Length: \(body.count - first)\r\n"
    if first > 0 { head += "Content-Range: bytes \(first)-\(body.count - 1)/\(body.count)\r\n" }
    try socket.write(head + "\r\n")
    var next = first
    let deadline = ContinuousClock.now + .seconds(120)
    while next < body.count, ContinuousClock.now < deadline {
      let end = max(next, body.count - shared.keptBack.withLock { $0 })
      let piece = body[next..<min(end, next + shared.pace.withLock { $0 })]
      if !piece.isEmpty { try socket.write(Array(piece)) }
      next += piece.count
      shared.state.withLock { $0.answers[index].sent += piece.count }
      usleep(50_000)
    }
  }
}

import EventLoop
import Glibc
import Synchronization

/// An origin with a handler that writes raw bytes, correct or not. Each connection has a thread.
package final class TestOrigin: Sendable {
  /// A request as received.
  package struct Request: Sendable {
    package var line = ""
    package var fields: [(name: String, value: String)] = []
    package var body: [UInt8] = []
    /// The client's address.
    package var peer = ""
    package var path: String { line.split(separator: " ").dropFirst().first.map(String.init) ?? "" }
    package var method: String { line.split(separator: " ").first.map(String.init) ?? "" }
    package subscript(_ name: String) -> String? {
      fields.first { $0.name.lowercased() == name.lowercased() }?.value
    }
  }
  /// Writes a response to the socket. Returns whether the connection stays open.
  package typealias Handler = @Sendable (Request, Socket) throws -> Bool

  package let port: Int
  private let listener: Int32
  private let log = Mutex<[Request]>([])
  private let sockets = Mutex<[Socket]>([])
  private let handler: Handler
  private let readsBodies: Bool

  /// - Parameter readsBodies: Whether bodies are read for the handler. If false, it calls `read(bodyOf:from:_:)`.
  package init(readsBodies: Bool = true, _ handler: @escaping Handler) {
    self.handler = handler
    self.readsBodies = readsBodies
    (listener, port) = Socket.listen()
    start()
  }

  /// Listens on all addresses of a namespace.
  package init(in namespace: NetworkNamespace, readsBodies: Bool = true, _ handler: @escaping Handler) throws
  {
    self.handler = handler
    self.readsBodies = readsBodies
    (listener, port) = try Socket.listen(in: namespace)
    start()
  }

  private func start() {
    let (listener, readsBodies) = (listener, readsBodies)
    POSIXThread.spawn(name: "test-origin") { [weak self] in
      defer { close(listener) }
      while true {
        let descriptor = accept(listener, nil, nil)
        guard descriptor >= 0 else { return }
        let socket = Socket(descriptor: descriptor)
        guard let self else { return }
        self.sockets.withLock { $0.append(socket) }
        POSIXThread.spawn(name: "test-connection") { [weak self] in
          // Between two requests, this thread does not retain the origin.
          while let request = try? Self.read(socket, readsBodies) {
            guard self?.answers(request, on: socket) == true else { break }
          }
          self?.forget(socket)
        }
      }
    }
  }

  deinit {
    shutdown(listener, Int32(SHUT_RDWR))
    for socket in sockets.withLock(\.self) { shutdown(socket.descriptor, Int32(SHUT_RDWR)) }
  }

  package var url: String { url(at: "127.0.0.1") }
  package func url(at host: String) -> String { "http://\(host):\(port)" }
  /// All requests so far.
  package var requests: [Request] { log.withLock { $0 } }

  /// Logs and handles a request. Returns whether the connection stays open.
  private func answers(_ request: Request, on socket: Socket) -> Bool {
    log.withLock { $0.append(request) }
    return (try? handler(request, socket)) == true
  }

  private func forget(_ socket: Socket) { sockets.withLock { $0.removeAll { $0 === socket } } }

  private static func read(_ socket: Socket, _ readsBodies: Bool) throws -> Request? {
    guard let line = try socket.readLine() else { return nil }
    var request = Request(line: line, peer: socket.peer)
    while let line = try socket.readLine(), !line.isEmpty {
      let parts = line.split(separator: ":", maxSplits: 1)
      request.fields.append((String(parts[0]), parts.count > 1 ? String(parts[1].drop { $0 == " " }) : ""))
    }
    if readsBodies { request.body = try read(bodyOf: request, from: socket) }
    return request
  }

  /// Reads and returns a request's body, chunked or of known length.
  package static func read(bodyOf request: Request, from socket: Socket) throws -> [UInt8] {
    var body: [UInt8] = []
    try read(bodyOf: request, from: socket) { body += $0 }
    return body
  }

  /// Reads a request's body in pieces.
  package static func read(
    bodyOf request: Request, from socket: Socket, _ take: ([UInt8]) throws -> Void
  ) throws {
    if request["Transfer-Encoding"]?.lowercased() == "chunked" {
      while let chunk = try socket.readChunk() { try take(chunk) }
      return
    }
    var left = Int(request["Content-Length"] ?? "0") ?? 0
    while left > 0 {
      let piece = try socket.read(exactly: min(left, 65_536))
      left -= piece.count
      try take(piece)
    }
  }

  /// Returns a response with a `Content-Length`.
  package static func reply(
    _ status: String, _ body: [UInt8] = [], _ fields: [(String, String)] = []
  ) -> [UInt8] {
    var head = "HTTP/1.1 \(status)\r\nContent-Length: \(body.count)\r\n"
    for (name, value) in fields { head += "\(name): \(value)\r\n" }
    return Array((head + "\r\n").utf8) + body
  }
}

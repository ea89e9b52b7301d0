internal import CMicroHTTPD
package import EventLoop
package import HTTPTypes
internal import Limits

// Within `HTTPServer`, `Limits` is the server's own type.
private let initialHeadBytes = Limits.requestHeadBytes.value
private let initialFields = Limits.requestFields.value
private let initialTargetBytes = Limits.targetBytes.value
private let initialHeadSeconds = Limits.requestHeadSeconds.value
private let initialReceivingBytes = Limits.receivingBytes.value
private let initialReplyBytes = Limits.replyBytes.value
private let initialIdleSeconds = Limits.idleSeconds.value

/// An HTTP/1.1 server. libmicrohttpd runs on Ferry's event loop; the interface uses swift-http-types.
package final class HTTPServer: Sendable {
  package struct Failure: Error, CustomStringConvertible {
    package let message: String
    /// The error's errno; 0 if there is none.
    package var code: Int32 = 0
    package var description: String { message }
  }

  /// The limits that the server imposes on clients.
  package struct Limits: Sendable {
    package var connections = 10_000
    /// The bytes of a request line with its header fields.
    package var headerBytes = initialHeadBytes
    /// The number of header fields of a request.
    package var fields = initialFields
    /// The bytes of a request's target.
    package var targetBytes = initialTargetBytes
    /// The bytes of a reply's header fields.
    package var replyHeaderBytes = 8 * 1024
    /// The seconds within which the head of a request must arrive.
    package var headSeconds = initialHeadSeconds
    package var bodyTimeouts = BodyTimeouts()
    /// The total bytes of request bodies in memory, and of replies that are being sent. Small bodies do not count.
    package var receivingBytes = initialReceivingBytes
    package var replyBytes = initialReplyBytes
    /// The seconds for which an idle connection is kept.
    package var idleSeconds = initialIdleSeconds
    /// Makes the reply to a request that the server itself refuses.
    package var refusal: @Sendable (RequestFault) -> ServerResponse = { fault in
      ServerResponse(status: fault.status)
    }
    /// The bytes of memory for each connection: a head, libmicrohttpd's notes on its fields, and a reply's head.
    var connectionBytes: Int { 2 * headerBytes }
    package init() {}

    /// Whether libmicrohttpd can send a reply's head. If it cannot, it would close the connection without a reply.
    func allow(_ response: ServerResponse) -> Bool {
      let size = response.head.headerFields.reduce(0) {
        $0 + $1.name.rawName.utf8.count + $1.value.utf8.count + 4
      }
      return size <= replyHeaderBytes
    }
  }

  /// The listening address. If port 0 was requested, it has the assigned port.
  package var address: ListeningSocket.Address { socket.address }
  /// The listening port; 0 for a UNIX socket.
  package var port: Int { socket.address.port ?? 0 }
  private let socket: ListeningSocket
  private let loop: EventLoop
  let daemon: ServerDaemon

  /// Listens on an address. The server accepts connections after `start()`.
  package convenience init(
    loop: EventLoop, host: String, port: Int, limits: Limits = Limits(), handler: @escaping HTTPHandler
  ) throws {
    let socket = try ListeningSocket(hosts: [host], port: port)
    self.init(loop: loop, socket: socket, limits: limits, handler: handler)
  }

  /// Serves an open socket. The server accepts connections after `start()`.
  /// - Parameter socket: the listening socket, which the server owns from then on.
  package init(
    loop: EventLoop, socket: ListeningSocket, limits: Limits = Limits(), handler: @escaping HTTPHandler
  ) {
    self.loop = loop
    self.socket = socket
    daemon = ServerDaemon(loop: loop, limits: limits, port: socket.address.port ?? 0, handler: handler)
  }

  package func start() async throws {
    try await OnLoop(loop).run { [daemon, socket] in try daemon.start(listener: socket.descriptor) }
  }

  /// Returns when all replies are sent, or after `grace`. Endless replies end. New requests are answered until then.
  package func drain(grace: Duration) async {
    let daemon = daemon
    let loop = loop
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
      Task {
        await OnLoop(loop).run {
          let once = Once(continuation)
          loop.schedule(at: .now + grace) { once.resume() }
          daemon.drain { once.resume() }
        }
      }
    }
  }

  /// Closes the remaining connections and frees the daemon.
  package func stop() async {
    await OnLoop(loop).run { [daemon] in daemon.stop() }
  }
}

/// An actor that runs closures on a loop's thread.
private actor OnLoop {
  private nonisolated let loop: EventLoop
  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
  init(_ loop: EventLoop) { self.loop = loop }
  func run(_ body: @Sendable () throws -> Void) rethrows { try body() }
}

/// A continuation that two callers may resume.
private final class Once {
  private var continuation: CheckedContinuation<Void, Never>?
  init(_ continuation: CheckedContinuation<Void, Never>) { self.continuation = continuation }
  func resume() {
    continuation?.resume()
    continuation = nil
  }
}

extension RequestFault {
  package var status: HTTPResponse.Status {
    switch self {
    case .malformed: .badRequest
    case .headTooLarge: .requestHeaderFieldsTooLarge
    case .targetTooLong: .uriTooLong
    case .bodyTooLong: .contentTooLarge
    case .timedOut, .bodyStalled, .bodyTooSlow: .requestTimeout
    case .replyTooLarge: .internalServerError
    case .tooManyReplies: .tooManyRequests
    }
  }
}

internal import CMicroHTTPD
package import EventLoop
package import HTTPTypes
internal import Limits

// Within `HTTPServer`, `Limits` is the server's own.
private let initialHeadBytes = Limits.requestHeadBytes.value
private let initialFields = Limits.requestFields.value
private let initialTargetBytes = Limits.targetBytes.value
private let initialHeadSeconds = Limits.requestHeadSeconds.value
private let initialReceivingBytes = Limits.receivingBytes.value
private let initialReplyBytes = Limits.replyBytes.value
private let initialIdleSeconds = Limits.idleSeconds.value

/// An HTTP/1.1 server: libmicrohttpd on an event loop of ours, swift-http-types at the surface.
package final class HTTPServer: Sendable {
  package struct Failure: Error, CustomStringConvertible {
    package let message: String
    /// Of errno; 0 where there is none.
    package var code: Int32 = 0
    package var description: String { message }
  }

  /// What the server grants a client.
  package struct Limits: Sendable {
    package var connections = 10_000
    /// Bytes of a request's line and fields together.
    package var headerBytes = initialHeadBytes
    /// Fields of a request.
    package var fields = initialFields
    /// Bytes of a request's target.
    package var targetBytes = initialTargetBytes
    /// Bytes of a reply's fields together.
    package var replyHeaderBytes = 8 * 1024
    /// Seconds within which the head of a request must arrive.
    package var headSeconds = initialHeadSeconds
    package var bodyTimeouts = BodyTimeouts()
    /// Total bytes of request bodies being collected, and of replies being sent. Small ones do not count.
    package var receivingBytes = initialReceivingBytes
    package var replyBytes = initialReplyBytes
    /// Seconds for which an idle connection is kept.
    package var idleSeconds = initialIdleSeconds
    /// The reply to a request that the server refuses by itself.
    package var refusal: @Sendable (RequestFault) -> ServerResponse = { fault in
      ServerResponse(status: fault.status)
    }
    /// Bytes for each connection: a head, what libmicrohttpd notes of its fields, and a reply's head.
    var connectionBytes: Int { 2 * headerBytes }
    package init() {}

    /// Whether libmicrohttpd sends a reply's head; else it would close the connection without a word.
    func allow(_ response: ServerResponse) -> Bool {
      let size = response.head.headerFields.reduce(0) {
        $0 + $1.name.rawName.utf8.count + $1.value.utf8.count + 4
      }
      return size <= replyHeaderBytes
    }
  }

  /// Where it listens: with the real port where 0 was asked for.
  package var address: ListeningSocket.Address { socket.address }
  /// The port it listens on; 0 for a UNIX socket.
  package var port: Int { socket.address.port ?? 0 }
  private let socket: ListeningSocket
  private let loop: EventLoop
  let daemon: ServerDaemon

  /// Listens at once; connections are served from `start()` on.
  package convenience init(
    loop: EventLoop, host: String, port: Int, limits: Limits = Limits(), handler: @escaping HTTPHandler
  ) throws {
    let socket = try ListeningSocket(hosts: [host], port: port)
    self.init(loop: loop, socket: socket, limits: limits, handler: handler)
  }

  /// Connections are served from `start()` on.
  /// - Parameter socket: the server's from now on.
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

  /// Returns when all replies are sent, or after `grace`. Endless ones end; new requests are answered meanwhile.
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

  /// Cuts what is left and frees the daemon.
  package func stop() async {
    await OnLoop(loop).run { [daemon] in daemon.stop() }
  }
}

/// Runs a closure on a loop's thread.
private actor OnLoop {
  private nonisolated let loop: EventLoop
  nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
  init(_ loop: EventLoop) { self.loop = loop }
  func run(_ body: @Sendable () throws -> Void) rethrows { try body() }
}

/// A continuation that two parties may resume.
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

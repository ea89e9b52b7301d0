internal import CMicroHTTPD

/// One TCP connection of a daemon, from accept to close. Use it only on the loop.
final class ServerConnection {
  let descriptor: Int32
  /// The current request.
  var exchange: Exchange?
  /// The target of the request whose header fields are being read.
  var target = ""
  /// The deadline for the next request's head; `nil` during a request.
  var headDeadline: ContinuousClock.Instant?
  /// Whether remaining bytes of the client are read before the socket is closed. The request was refused or answered before its end.
  var readsRemainingBytes = true
  /// Whether no further reply follows: the last one was sent directly to the socket, or before the request's end.
  var hasSentLastReply = false
  /// The reason why the current request ends without a reply from libmicrohttpd.
  var fault: RequestFault?
  /// Whether Ferry added the socket to libmicrohttpd's epoll set. The entry must then be removed when the connection ends.
  var isInEpollSet = false

  /// Whether the connection is in `IdleConnections`; `next` and `previous` are its neighbours there.
  var isIdle = false
  /// Whether the connection was closed to admit another client and its end is not reported yet.
  var isClosing = false
  var next: ServerConnection?
  unowned(unsafe) var previous: ServerConnection?

  init(descriptor: Int32, headDeadline: ContinuousClock.Instant) {
    self.descriptor = descriptor
    self.headDeadline = headDeadline
  }

  /// Returns the `ServerConnection` from libmicrohttpd's socket context.
  static func of(_ connection: OpaquePointer) -> ServerConnection? {
    cmhd_socket_context(connection).map { Unmanaged<ServerConnection>.fromOpaque($0).takeUnretainedValue() }
  }

  /// Sends a reply for a connection that libmicrohttpd ends without one.
  func sendRefusal(_ limits: HTTPServer.Limits) {
    guard !hasSentLastReply else { return }
    if fault == nil, cmhd_has_unanswered_bytes(descriptor) != 0 {
      fault = .malformed("this is not an HTTP/1.1 request")
    }
    guard let fault else { return }
    RawReply(limits.refusal(fault))?.write(to: descriptor)
  }

  /// Moves the deadline by a time in which the loop was frozen.
  func excludeFreeze(_ standstill: Duration) { headDeadline? += standstill }
}

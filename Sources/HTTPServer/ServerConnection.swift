internal import CMicroHTTPD

/// One TCP connection of a daemon, from accept to close. On the loop only.
final class ServerConnection {
  let descriptor: Int32
  /// The request that is under way.
  var exchange: Exchange?
  /// The target of the request whose headers are being read.
  var target = ""
  /// When the next request's head must be whole; nil while one is answered.
  var headDeadline: ContinuousClock.Instant?
  /// What the client still sends is read before the socket is closed: a request was refused, or answered, before its end.
  var lingers = true
  /// There will be no reply any more: the last was given, past libmicrohttpd or before the request's end.
  var isAnswered = false
  /// Why the request that is under way ends without a reply from libmicrohttpd.
  var fault: RequestFault?
  /// Its socket is in libmicrohttpd's epoll set without its knowledge, and must not outlive it under another descriptor.
  var isCut = false

  /// Whether the connection is in `IdleConnections`; `next` and `previous` are its neighbours there.
  var isIdle = false
  /// Closed to admit another client; its end is not reported yet.
  var isClosing = false
  var next: ServerConnection?
  unowned(unsafe) var previous: ServerConnection?

  init(descriptor: Int32, headDeadline: ContinuousClock.Instant) {
    self.descriptor = descriptor
    self.headDeadline = headDeadline
  }

  /// The `ServerConnection` that is libmicrohttpd's socket context.
  static func of(_ connection: OpaquePointer) -> ServerConnection? {
    cmhd_socket_context(connection).map { Unmanaged<ServerConnection>.fromOpaque($0).takeUnretainedValue() }
  }

  /// libmicrohttpd gives some connections up without a reply.
  func sayWhy(_ limits: HTTPServer.Limits) {
    guard !isAnswered else { return }
    if fault == nil, cmhd_is_owed_a_word(descriptor) != 0 {
      fault = .malformed("this is no request of HTTP/1.1")
    }
    guard let fault else { return }
    RawReply(limits.refusal(fault))?.write(to: descriptor)
  }

  /// Nobody read for so long.
  func forgive(_ standstill: Duration) { headDeadline? += standstill }
}

internal import CMicroHTTPD

/// The order in which libmicrohttpd serves a connection.
///
/// libmicrohttpd reads from a resumed connection before it processes the request. If the client has closed its side, libmicrohttpd ends
/// the connection although the request is unfinished. It processes connections with a custom timeout first, so Ferry sets one. Ferry does
/// so before the connection is suspended, because 1.0.1, unlike 0.9.75, accepts no timeout afterwards.
struct ServingOrder {
  private var comesFirst = false

  /// Sets or clears the custom timeout.
  /// - Parameter seconds: the seconds for which the connection may be idle.
  mutating func set(first isFirst: Bool, on connection: OpaquePointer, idle seconds: @autoclosure () -> Int) {
    guard isFirst != comesFirst else { return }
    comesFirst = isFirst
    cmhd_set_timeout(connection, UInt32(seconds() + (isFirst ? 1 : 0)))
  }
}

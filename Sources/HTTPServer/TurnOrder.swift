internal import CMicroHTTPD

/// When libmicrohttpd looks at a connection again.
///
/// A connection that was resumed is read from before anything else, and libmicrohttpd takes the end of what a client sends for the end
/// of all, although there is a request to be gone on with. What has a timeout of its own it goes on with first. It is given before the
/// connection is suspended: 1.0.1 takes none from then on, where 0.9.75 did.
struct TurnOrder {
  private var comesFirst = false

  /// - Parameter seconds: for which the connection may be idle.
  mutating func set(first isFirst: Bool, on connection: OpaquePointer, idle seconds: @autoclosure () -> Int) {
    guard isFirst != comesFirst else { return }
    comesFirst = isFirst
    cmhd_set_timeout(connection, UInt32(seconds() + (isFirst ? 1 : 0)))
  }
}

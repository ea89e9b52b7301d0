internal import CLinux
internal import CMicroHTTPD
internal import Glibc

/// Connections between two requests, the one that has been idle longest first. On the loop only.
///
/// When the server is full, the first one is closed to admit a new client, as nginx does: clients have to expect that of any idle
/// connection (RFC 9112 §9.3). A connection with a request that is not answered, or with a stream, is never among them.
struct IdleConnections {
  private var first: ServerConnection?
  private unowned(unsafe) var last: ServerConnection?
  /// Those that were closed and have not ended yet.
  private(set) var closing = 0

  /// Adds a connection whose request was answered.
  mutating func append(_ connection: ServerConnection) {
    guard !connection.isIdle else { return }
    connection.isIdle = true
    connection.previous = last
    if let last { last.next = connection } else { first = connection }
    last = connection
  }

  /// Removes a connection that has ended.
  mutating func connectionEnded(_ connection: ServerConnection) {
    remove(connection)
    if connection.isClosing { closing -= 1 }
  }

  /// Removes a connection whose next request begins.
  mutating func remove(_ connection: ServerConnection) {
    guard connection.isIdle else { return }
    connection.isIdle = false
    let (previous, next) = (connection.previous, connection.next)
    (connection.previous, connection.next) = (nil, nil)
    if let previous { previous.next = next } else { first = next }
    if let next { next.previous = previous } else { last = previous }
  }

  /// Whether a connection can be closed. Removes those whose next request has arrived.
  mutating func hasClosable() -> Bool {
    while let connection = first {
      guard cmhd_unread(connection.descriptor) > 0 else { return true }
      // A request is on its way: libmicrohttpd has not read it yet.
      remove(connection)
    }
    return false
  }

  /// Closes the one that has been idle longest. libmicrohttpd reports its end.
  mutating func closeLongest() {
    guard hasClosable(), let connection = first else { return }
    remove(connection)
    connection.isAnswered = true
    connection.isClosing = true
    closing += 1
    shutdown(connection.descriptor, Int32(SHUT_RDWR))
  }
}

internal import CLinux
internal import CMicroHTTPD
internal import Glibc

/// The connections between two requests, longest idle first. Use this list only on the loop.
///
/// When the server is full, the first connection is closed to admit a new client, as nginx does. Clients must expect this of any idle
/// connection (RFC 9112 §9.3). A connection with an unanswered request or a stream is never in the list.
struct IdleConnections {
  private var first: ServerConnection?
  private unowned(unsafe) var last: ServerConnection?
  /// The number of closed connections whose end libmicrohttpd has not reported yet.
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

  /// Whether a connection can be closed. Removes connections whose next request has arrived.
  mutating func hasClosable() -> Bool {
    while let connection = first {
      guard cmhd_unread(connection.descriptor) > 0 else { return true }
      // The socket has bytes of a request that libmicrohttpd has not read yet.
      remove(connection)
    }
    return false
  }

  /// Closes the connection that has been idle longest. libmicrohttpd reports its end later.
  mutating func closeLongest() {
    guard hasClosable(), let connection = first else { return }
    remove(connection)
    connection.hasSentLastReply = true
    connection.isClosing = true
    closing += 1
    shutdown(connection.descriptor, Int32(SHUT_RDWR))
  }
}

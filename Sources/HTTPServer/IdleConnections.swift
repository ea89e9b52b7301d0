internal import CLinux
internal import CMicroHTTPD
internal import Glibc

/// Connections between two requests, the one that has been idle longest first. On the loop only.
///
/// When the server is full, that one is closed for a client that wants to come in, as nginx does: clients have to expect that of any idle
/// connection (RFC 9112 §9.3). A connection with a request that is not answered, or with a stream, is never among them.
struct IdleConnections {
  private var first: ServerConnection?
  private unowned(unsafe) var last: ServerConnection?
  /// Those that were closed and have not ended yet.
  private(set) var closing = 0

  /// Its request is answered.
  mutating func append(_ connection: ServerConnection) {
    guard !connection.isIdle else { return }
    connection.isIdle = true
    connection.previous = last
    if let last { last.next = connection } else { first = connection }
    last = connection
  }

  /// It has ended.
  mutating func forget(_ connection: ServerConnection) {
    remove(connection)
    if connection.isClosing { closing -= 1 }
  }

  /// Its next request begins.
  mutating func remove(_ connection: ServerConnection) {
    guard connection.isIdle else { return }
    connection.isIdle = false
    let (previous, next) = (connection.previous, connection.next)
    (connection.previous, connection.next) = (nil, nil)
    if let previous { previous.next = next } else { first = next }
    if let next { next.previous = previous } else { last = previous }
  }

  /// Whether one can be closed.
  mutating func areAny() -> Bool {
    while let connection = first {
      guard cmhd_unread(connection.descriptor) > 0 else { return true }
      // A request is on its way: libmicrohttpd has not read it yet.
      remove(connection)
    }
    return false
  }

  /// Closes the one that has been idle longest. libmicrohttpd tells of its end.
  mutating func closeLongest() {
    guard areAny(), let connection = first else { return }
    remove(connection)
    connection.isAnswered = true
    connection.isClosing = true
    closing += 1
    shutdown(connection.descriptor, Int32(SHUT_RDWR))
  }
}

package import Foundation

/// A socket that a test passes to a program, as a service manager does (sd_listen_fds(3)).
package final class InheritedSocket {
  package enum Kind: Sendable {
    case loopback, everywhere
    /// A UNIX socket at this path.
    case local(String)
    /// Sockets that do not listen.
    case deaf, datagrams
  }
  package let handle: FileHandle
  /// The port, or 0 if the socket has none.
  package let port: Int

  package init(_ kind: Kind) throws {
    var descriptor: Int32 = -1
    var port = 0
    switch kind {
    case .loopback: (descriptor, port) = Socket.listen()
    case .everywhere: (descriptor, port) = Socket.listenEverywhere()
    case .local(let path):
      descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
      let status = UnixAddress.with(path) { bind(descriptor, $0, $1) }
      guard status == 0, listen(descriptor, 16) == 0 else {
        throw Socket.Failure(operation: "listen", errno: errno)
      }
    case .deaf: descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    case .datagrams: descriptor = socket(AF_INET, Int32(SOCK_DGRAM.rawValue), 0)
    }
    handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
    self.port = port
  }

  /// Returns the wrapper that passes the standard input as `count` descriptors.
  package static func wrapper(count: Int = 1) -> [String] {
    let copies = (0..<count).map { "\(3 + $0)<&0" }.joined(separator: " ")
    return ["sh", "-c", "exec \(copies) </dev/null; LISTEN_FDS=\(count) LISTEN_PID=$$ exec \"$@\"", "sh"]
  }
}

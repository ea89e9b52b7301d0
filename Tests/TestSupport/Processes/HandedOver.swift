package import Foundation

/// A socket that a test opens and hands to a program, as a service manager does (sd_listen_fds(3)).
package final class HandedOver {
  package enum Kind: Sendable {
    case loopback, everywhere
    /// UNIX sockets of that path.
    case local(String)
    /// Nothing listens on these.
    case deaf, datagrams
  }
  package let handle: FileHandle
  /// 0 where it has none.
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

  /// Runs a program with its standard input as the first of so many descriptors that are handed over.
  package static func wrapper(count: Int = 1) -> [String] {
    let copies = (0..<count).map { "\(3 + $0)<&0" }.joined(separator: " ")
    return ["sh", "-c", "exec \(copies) </dev/null; LISTEN_FDS=\(count) LISTEN_PID=$$ exec \"$@\"", "sh"]
  }
}

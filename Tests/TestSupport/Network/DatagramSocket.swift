package import Glibc

/// A UNIX datagram socket, like that of a service manager.
package final class DatagramSocket: Sendable {
  /// A path, or an abstract name after `@`.
  package let name: String
  private let descriptor: Int32

  package init(_ name: String) throws {
    self.name = name
    descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    let status = UnixAddress.with(name) { bind(descriptor, $0, $1) }
    guard status == 0 else { throw Socket.Failure(operation: "bind", errno: errno) }
  }

  deinit { close(descriptor) }

  /// Returns the next datagram, or `nil` if none arrives in time.
  package func next(within milliseconds: Int32 = 20_000) -> String? {
    var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    guard poll(&entry, 1, milliseconds) > 0 else { return nil }
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = recv(descriptor, &bytes, bytes.count, 0)
    return count < 0 ? nil : String(decoding: bytes.prefix(count), as: UTF8.self)
  }

  /// Returns the next datagram that contains this line. Skips others.
  package func next(having line: String, within milliseconds: Int32 = 20_000) -> [String]? {
    while let text = next(within: milliseconds) {
      let lines = text.split(separator: "\n").map(String.init)
      if lines.contains(line) { return lines }
    }
    return nil
  }
}

/// Addresses of UNIX sockets (unix(7)).
package enum UnixAddress {
  /// - Parameter name: A path, or a name in the abstract namespace after `@`.
  package static func with<T>(_ name: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> T) -> T {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    var bytes = Array(name.utf8)
    if bytes.first == UInt8(ascii: "@") { bytes[0] = 0 }
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes.prefix(107)) }
    let length = MemoryLayout<sa_family_t>.size + bytes.count
    return withUnsafePointer(to: address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(length)) }
    }
  }
}

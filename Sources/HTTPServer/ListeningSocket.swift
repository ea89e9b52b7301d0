internal import CMicroHTTPD
internal import CLinux
internal import Glibc

/// A listening socket.
package struct ListeningSocket: Sendable {
  package enum Address: Sendable, Equatable, CustomStringConvertible {
    /// A numeric address.
    case internet(host: String, port: Int)
    /// A path, or a name in the abstract namespace with a leading `@`. Only programs on this machine can connect.
    case local(path: String)

    package var port: Int? { if case .internet(_, let port) = self { port } else { nil } }

    /// The address in log format.
    package var description: String {
      switch self {
      case .internet(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
      case .local(let path): "unix:\(path)"
      }
    }
  }

  /// The number of clients that may wait for an accept.
  private static let backlog: Int32 = 1024

  let descriptor: Int32
  package let address: Address

  /// Opens a TCP socket.
  /// - Parameters:
  ///   - hosts: numeric addresses. The next one is tried if this machine lacks the address or its family. `::` accepts IPv4 too.
  ///   - port: the port; 0 for any free port.
  package init(hosts: [String], port: Int) throws(HTTPServer.Failure) {
    var (opened, host, code) = (Int32(-1), "", Int32(0))
    for next in hosts where opened < 0 && [0, EAFNOSUPPORT, EADDRNOTAVAIL].contains(code) {
      host = next
      opened = cmhd_listen(host, UInt16(clamping: port), Self.backlog)
      code = opened < 0 ? errno : 0
    }
    guard opened >= 0 else {
      throw HTTPServer.Failure(
        message: "cannot listen on \(host) port \(port): \(String(cString: strerror(code)))", code: code)
    }
    descriptor = opened
    address = try Self.address(of: descriptor)
  }

  /// Uses a listening socket that another process has opened and passed on.
  package init(inherited descriptor: Int32) throws(HTTPServer.Failure) {
    guard cmhd_adopt(descriptor) != 0 else {
      throw HTTPServer.Failure(
        message:
          "descriptor \(descriptor) is not a listening stream socket; set ListenStream= in the socket unit")
    }
    self.descriptor = descriptor
    address = try Self.address(of: descriptor)
  }

  private static func address(of descriptor: Int32) throws(HTTPServer.Failure) -> Address {
    var text = [CChar](repeating: 0, count: 128)
    let port = cmhd_socket_name(descriptor, &text, text.count)
    let name = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    guard port >= -1 else {
      throw HTTPServer.Failure(
        message:
          "descriptor \(descriptor) is neither a TCP nor a UNIX socket; set ListenStream= in the socket unit")
    }
    return port == -1 ? .local(path: name) : .internet(host: name, port: Int(port))
  }
}

internal import CMicroHTTPD
internal import CLinux
internal import Glibc

/// A socket that clients connect to.
package struct ListeningSocket: Sendable {
  package enum Address: Sendable, Equatable, CustomStringConvertible {
    /// A numeric address.
    case internet(host: String, port: Int)
    /// A path, or a name in the abstract namespace behind `@`: this machine's programs only.
    case local(path: String)

    package var port: Int? { if case .internet(_, let port) = self { port } else { nil } }

    /// As the log writes it.
    package var description: String {
      switch self {
      case .internet(let host, let port): host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
      case .local(let path): "unix:\(path)"
      }
    }
  }

  /// Clients that wait to be taken.
  private static let backlog: Int32 = 1024

  let descriptor: Int32
  package let address: Address

  /// Opens one.
  /// - Parameters:
  ///   - hosts: numeric addresses. The next one is tried if this machine does not have an address, or not its family. `::` takes IPv4, too.
  ///   - port: 0 takes a free one.
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

  /// Takes one that another process has opened and handed over.
  package init(inherited descriptor: Int32) throws(HTTPServer.Failure) {
    guard cmhd_adopt(descriptor) != 0 else {
      throw HTTPServer.Failure(message: "descriptor \(descriptor) is not a stream socket that listens")
    }
    self.descriptor = descriptor
    address = try Self.address(of: descriptor)
  }

  private static func address(of descriptor: Int32) throws(HTTPServer.Failure) -> Address {
    var text = [CChar](repeating: 0, count: 128)
    let port = cmhd_bound_to(descriptor, &text, text.count)
    let name = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    guard port >= -1 else {
      throw HTTPServer.Failure(message: "descriptor \(descriptor) is neither a TCP nor a UNIX socket")
    }
    return port == -1 ? .local(path: name) : .internet(host: name, port: Int(port))
  }
}

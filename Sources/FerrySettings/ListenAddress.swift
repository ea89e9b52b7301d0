internal import Addresses

/// The address on which the service listens.
package struct ListenAddress: Sendable, Equatable, CustomStringConvertible {
  static let initial = Self(hosts: ["127.0.0.1"], port: 8080)
  /// All addresses: an IPv6 socket that also accepts IPv4, or an IPv4 socket on a machine without IPv6.
  private static let all = ["::", "0.0.0.0"]

  /// Numeric addresses, IPv6 without brackets. The first one that the machine has is used.
  package let hosts: [String]
  /// The port; 0 for any free port.
  package let port: Int

  private init(hosts: [String], port: Int) {
    self.hosts = hosts
    self.port = port
  }

  /// Parses an address.
  /// - Parameter text: an address, IPv6 in brackets, `localhost`, or nothing for all addresses; then a colon and a port.
  init(_ text: String) throws(SettingFault) {
    guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
      (0...65_535).contains(port)
    else {
      throw SettingFault(
        "'\(text)' is not an address and a port from 0 to 65535; write it like 127.0.0.1:8080")
    }
    guard colon != text.startIndex else {
      self.init(hosts: Self.all, port: port)
      return
    }
    let host = text[..<colon].filter { $0 != "[" && $0 != "]" }
    let name = host == "localhost" ? "127.0.0.1" : host
    guard IPAddress(name) != nil else {
      throw SettingFault(
        "'\(host)' is neither an IP address nor localhost; give the address, as other names are not looked up"
      )
    }
    self.init(hosts: [name], port: port)
  }

  package var description: String {
    guard hosts != Self.all else { return ":\(port)" }
    return hosts[0].contains(":") ? "[\(hosts[0])]:\(port)" : "\(hosts[0]):\(port)"
  }

  /// Whether only programs on this machine can connect.
  package var isLoopback: Bool { hosts.allSatisfy { IPAddress($0)?.isLoopback == true } }
}

internal import Addresses

/// Where clients connect to.
package struct ListenAddress: Sendable, Equatable, CustomStringConvertible {
  static let initial = Self(hosts: ["127.0.0.1"], port: 8080)
  /// All addresses: by an IPv6 socket that takes IPv4, too, or by IPv4 on a machine without IPv6.
  private static let all = ["::", "0.0.0.0"]

  /// Numeric addresses, IPv6 without brackets, of which the first counts that the machine has.
  package let hosts: [String]
  /// 0 takes a free one.
  package let port: Int

  private init(hosts: [String], port: Int) {
    self.hosts = hosts
    self.port = port
  }

  /// - Parameter text: an address, IPv6 in brackets, `localhost`, or nothing for all addresses; a colon; a port.
  init(_ text: String) throws(SettingFault) {
    guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
      (0...65_535).contains(port)
    else { throw SettingFault("'\(text)' is not an address and a port, like 127.0.0.1:8080") }
    guard colon != text.startIndex else {
      self.init(hosts: Self.all, port: port)
      return
    }
    let host = text[..<colon].filter { $0 != "[" && $0 != "]" }
    let name = host == "localhost" ? "127.0.0.1" : host
    guard IPAddress(name) != nil else {
      throw SettingFault("'\(host)' is not an IP address; names other than localhost are not looked up")
    }
    self.init(hosts: [name], port: port)
  }

  package var description: String {
    guard hosts != Self.all else { return ":\(port)" }
    return hosts[0].contains(":") ? "[\(hosts[0])]:\(port)" : "\(hosts[0]):\(port)"
  }

  /// Whether only programs on this machine reach it.
  package var isLoopback: Bool { hosts.allSatisfy { IPAddress($0)?.isLoopback == true } }
}

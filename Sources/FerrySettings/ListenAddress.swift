internal import TransferModel

/// Where clients connect to.
package struct ListenAddress: Sendable, Equatable, CustomStringConvertible {
  static let initial = Self(host: "127.0.0.1", port: 8080)

  /// A numeric address, IPv6 without brackets.
  package let host: String
  /// 0 takes a free one.
  package let port: Int

  private init(host: String, port: Int) {
    self.host = host
    self.port = port
  }

  /// - Parameter text: an address, IPv6 in brackets, or `localhost`; a colon; a port.
  init(_ text: String) throws(SettingFault) {
    guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
      (0...65_535).contains(port)
    else { throw SettingFault("'\(text)' is not an address and a port, like 127.0.0.1:8080") }
    let host = text[..<colon].filter { $0 != "[" && $0 != "]" }
    let name = host == "localhost" ? "127.0.0.1" : host
    guard IPAddress(name) != nil else {
      throw SettingFault("'\(host)' is not an IP address; names other than localhost are not looked up")
    }
    self.init(host: name, port: port)
  }

  package var description: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

  /// Whether only programs on this machine reach it.
  package var isLoopback: Bool { IPAddress(host)?.isLoopback ?? false }
}

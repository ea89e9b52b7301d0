internal import Addresses
internal import HTTPFields
package import JSON
internal import Limits

/// A proxy that requests go through.
package struct ProxyServer: Sendable, Hashable {
  package enum Kind: String, Sendable {
    /// Asked for http URLs in full, and for tunnels (CONNECT) to https ones.
    case http
    /// SOCKS version 5 (RFC 1928); it resolves the origin's name.
    case socks5
  }
  package var kind: Kind
  package var host: String
  package var port: Int
  package init(kind: Kind, host: String, port: Int) {
    self.kind = kind
    self.host = host
    self.port = port
  }

  /// `scheme://host:port`.
  package var url: String { "\(kind.rawValue)://\(authority)" }

  /// `host:port`, with brackets around an IPv6 address.
  fileprivate var authority: String {
    "\(host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host):\(port)"
  }
}

/// Which proxies a session uses for what (URLSessionConfiguration.connectionProxyDictionary). The environment's are
/// never used.
package struct ProxyConfiguration: Sendable, Equatable {
  /// One, with what its URL said of a user.
  package struct Entry: Sendable, Equatable {
    package var server: ProxyServer
    package var credential: Credential?
  }
  /// For http URLs.
  package var http: Entry?
  /// For https URLs.
  package var https: Entry?
  /// For what the other two leave.
  package var socks5: Entry?
  package var noProxy = ProxyExceptions()

  package init() {}

  package var isEmpty: Bool { http == nil && https == nil && socks5 == nil }

  /// The proxy for an origin; nil: none.
  package func entry(scheme: String, host: String, port: Int) -> Entry? {
    guard !noProxy.cover(host: host, port: port) else { return nil }
    return (scheme == "https" ? https : http) ?? socks5
  }
}

extension ProxyConfiguration {
  /// Reads the contract's `proxies`.
  package init(validating reader: inout ObjectReader) {
    reader.allowNull("http", "https", "socks5")
    http = Self.entry("http", [.http], &reader)
    https = Self.entry("https", [.http], &reader)
    socks5 = Self.entry("socks5", [.socks5], &reader)
    let texts = reader.strings("noProxy", upTo: Limits.proxyExceptions.value) ?? []
    var exceptions: [ProxyException] = []
    exceptions.reserveCapacity(texts.count)
    for (index, text) in texts.enumerated() {
      if text.utf8.count <= Limits.hostBytes.value, let exception = ProxyException(text) {
        exceptions.append(exception)
      } else {
        reader.reject(
          "noProxy", element: index,
          "must be `*`, a host or an address, optionally followed by `:port`, or a network in CIDR notation"
        )
      }
    }
    noProxy = ProxyExceptions(exceptions)
    reader.finish()
  }

  private static func entry(
    _ name: String, _ kinds: Set<ProxyServer.Kind>, _ reader: inout ObjectReader
  ) -> Entry? {
    guard let text = reader.string(name, upTo: Limits.urlBytes.value) else { return nil }
    guard let entry = Entry(text, kinds.first ?? .http), kinds.contains(entry.server.kind) else {
      let scheme = kinds.first?.rawValue ?? ""
      reader.reject(name, "must be the URL of a proxy, like \(scheme)://proxy.example:3128")
      return nil
    }
    return entry
  }

}

extension ProxyConfiguration: JSONEncodable {
  /// As clients see it, without users.
  package func encode(into writer: inout JSONWriter) {
    writer.object { writer in
      if let http { writer.field("http", http.server.url) }
      if let https { writer.field("https", https.server.url) }
      if let socks5 { writer.field("socks5", socks5.server.url) }
      writer.arrayField("noProxy", noProxy.all) { $0.value($1.text) }
    }
  }
}

extension ProxyConfiguration.Entry {
  /// Reads `[scheme://][user[:password]@]host[:port][/]`. By Unicode scalars: a delimiter and a combining mark behind it are one
  /// `Character`, which is not equal to the delimiter.
  package init?(_ text: String, _ kind: ProxyServer.Kind) {
    var kind = kind
    var rest = text.unicodeScalars[...]
    if let slashes = rest.firstRange(of: "://".unicodeScalars) {
      switch String(rest[..<slashes.lowerBound]).lowercased() {
      case "http": kind = .http
      case "socks5", "socks5h": kind = .socks5
      default: return nil
      }
      rest = rest[slashes.upperBound...]
    }
    if rest.last == "/" { rest = rest.dropLast() }
    if let at = rest.lastIndex(of: "@") {
      let login = rest[..<at].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
      let password = PercentEncoding.decode(login.count > 1 ? String(login[1]) : "")
      let user = PercentEncoding.decode(String(login[0]))
      guard Credential.isUser(user), Credential.isPassword(password),
        user.utf8.count <= Limits.userBytes.value, password.utf8.count <= Limits.passwordBytes.value
      else { return nil }
      credential = Credential(user: user, password: password)
      rest = rest[rest.index(after: at)...]
    }
    var port = kind == .http ? 8080 : 1080
    if let colon = rest.lastIndex(of: ":"), rest.last != "]" {
      guard let number = Int(String(rest[rest.index(after: colon)...])), (1...65_535).contains(number) else {
        return nil
      }
      port = number
      rest = rest[..<colon]
    }
    let isBracketed = rest.first == "[" && rest.last == "]"
    let host = isBracketed ? String(rest.dropFirst().dropLast()) : String(rest).lowercased()
    let isHost =
      isBracketed
      ? IPAddress(host) != nil
      : (1...Limits.hostBytes.value).contains(host.utf8.count)
        && host.utf8.allSatisfy { $0 > 0x20 && !"/?#@\\:[]".utf8.contains($0) }
    guard isHost else { return nil }
    server = ProxyServer(kind: kind, host: host, port: port)
  }

  package var urlWithUser: String {
    guard case .password(let user, let password) = credential?.kind else { return server.url }
    let login = "\(PercentEncoding.encode(user)):\(PercentEncoding.encode(password))@"
    return "\(server.kind.rawValue)://\(login)\(server.authority)"
  }
}

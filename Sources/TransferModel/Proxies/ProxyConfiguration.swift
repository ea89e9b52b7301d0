internal import Addresses
internal import HTTPFields
package import JSON
internal import Limits

/// A proxy for requests.
package struct ProxyServer: Sendable, Hashable {
  package enum Kind: String, Sendable {
    /// An HTTP proxy. It receives requests for http URLs, and CONNECT requests for https URLs.
    case http
    /// SOCKS version 5 (RFC 1928). The proxy resolves the origin's name.
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

/// The proxies of a session (URLSessionConfiguration.connectionProxyDictionary). Environment variables are never used.
package struct ProxyConfiguration: Sendable, Equatable {
  /// A proxy with the credential from its URL.
  package struct Entry: Sendable, Equatable {
    package var server: ProxyServer
    package var credential: Credential?
  }
  /// The proxy for http URLs.
  package var http: Entry?
  /// The proxy for https URLs.
  package var https: Entry?
  /// The proxy for URLs whose scheme has no other proxy.
  package var socks5: Entry?
  package var noProxy = ProxyExceptions()

  package init() {}

  package var isEmpty: Bool { http == nil && https == nil && socks5 == nil }

  /// Returns the proxy for an origin; `nil` if there is none.
  package func entry(scheme: String, host: String, port: Int) -> Entry? {
    guard !noProxy.cover(host: host, port: port) else { return nil }
    return (scheme == "https" ? https : http) ?? socks5
  }
}

extension ProxyConfiguration {
  /// Reads `proxies` of the API.
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
          "must be `*`, a host or an address, optionally followed by `:port`, or a network in CIDR notation, not '\(text)'"
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
  /// Writes the proxies as clients see them, without users.
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
  /// Reads `[scheme://][user[:password]@]host[:port][/]`. The parser compares Unicode scalars, because a delimiter followed by a combining
  /// mark forms one `Character`, which does not equal the delimiter.
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

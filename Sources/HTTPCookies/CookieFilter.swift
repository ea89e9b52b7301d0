/// A selection of cookies by a client. A property that is `nil` matches any value.
package struct CookieFilter: Sendable, Equatable {
  /// The cookie's domain. With a leading dot, the filter matches subdomains too.
  package private(set) var domain: String?
  /// The cookie's path.
  package var path: String?
  package var name: String?

  package init(path: String? = nil, name: String? = nil) {
    self.path = path
    self.name = name
  }

  /// Makes a filter; `nil` if no cookie can have such a domain.
  package init?(domain: String, path: String? = nil, name: String? = nil) {
    let hasDot = domain.utf8.first == UInt8(ascii: ".")
    guard let host = CookieHost(hasDot ? String(domain.dropFirst()) : domain) else { return nil }
    self.init(path: path, name: name)
    self.domain = (hasDot ? "." : "") + host.name
  }

  private var host: CookieHost? {
    domain.flatMap { CookieHost(includesSubdomains ? String($0.dropFirst()) : $0) }
  }
  private var includesSubdomains: Bool { domain?.utf8.first == UInt8(ascii: ".") }

  /// The site of all matching cookies; `nil` if they may belong to several sites.
  var site: String? {
    host.flatMap { includesSubdomains && $0.registrableDomain == nil && !$0.isAddress ? nil : $0.site }
  }

  /// A function that tests whether a cookie matches. It parses the filter's domain only once.
  var predicate: (Cookie) -> Bool {
    let host = host
    return { [self] cookie in
      if let path, !CookieText.equal(path, cookie.path) { return false }
      if let name, !CookieText.equal(name, cookie.name) { return false }
      guard let host else { return true }
      return cookie.domain == host.name
        || includesSubdomains && !host.isAddress && CookieHost.isSameOrBelow(cookie.domain, host.name)
    }
  }
}

/// Which cookies a client means; nil: whatever it is.
package struct CookieFilter: Sendable, Equatable {
  /// The cookie's own; that and all below it where there is a leading dot.
  package private(set) var domain: String?
  /// The cookie's own.
  package var path: String?
  package var name: String?

  package init(path: String? = nil, name: String? = nil) {
    self.path = path
    self.name = name
  }

  /// nil where no cookie can have such a domain.
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

  /// The site that has them all; nil: any may have some.
  var site: String? {
    host.flatMap { includesSubdomains && $0.registrableDomain == nil && !$0.isAddress ? nil : $0.site }
  }

  /// Whether a cookie is meant; looks at the domain once for many.
  var test: (Cookie) -> Bool {
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

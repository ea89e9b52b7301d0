package import TransferModel

extension CookieJar {
  /// The value of the request's `Cookie` field; nil where it has none (RFC 6265bis §5.8.3).
  package mutating func header(for context: CookieContext, now: Timestamp) -> String? {
    guard let host = CookieHost(context.host) else { return nil }
    let registrable = host.registrableDomain
    let site = registrable ?? host.name
    guard sites[site] != nil else { return nil }
    let isSameSite = context.isSameSite
    let chosen = updateSite(site) { site, _ in
      site.use(at: now) { cookie in
        !cookie.isExpired(at: now)
          // A domain that became a public suffix after the cookie was stored counts no longer.
          && (cookie.isHostOnly || registrable == nil
            ? cookie.isHostOnly && cookie.domain == host.name : host.domainMatches(cookie.domain))
          && CookiePath.matches(context.path, cookie.path) && (context.isSecure || !cookie.isSecure)
          && (isSameSite || cookie.isSentCrossSite(by: context))
      }
    }
    guard !chosen.isEmpty else { return nil }
    return chosen.sorted(by: Self.isSentBefore).map(\.cookie.pair).joined(separator: "; ")
  }

  /// Step 4.
  private static func isSentBefore(_ one: Entry, _ other: Entry) -> Bool {
    (other.cookie.path.utf8.count, one.cookie.created, one.serial)
      < (one.cookie.path.utf8.count, other.cookie.created, other.serial)
  }
}

extension Cookie {
  /// Step 3: strict ones never, lax ones only where somebody goes there, and asks for nothing but to look.
  fileprivate func isSentCrossSite(by context: CookieContext) -> Bool {
    switch sameSite {
    case .unrestricted, nil: true
    case .strict: false
    case .lax: context.isTopLevelNavigation && context.isSafeMethod
    }
  }

  /// Step 6.
  fileprivate var pair: String { name.isEmpty ? value : name + "=" + value }
}

internal import HTTPFields
package import TransferModel

extension CookieJar {
  /// Returns the value of the request's `Cookie` field; `nil` if no cookie matches (RFC 6265bis §5.8.3).
  package mutating func header(for context: CookieContext, now: Timestamp) -> String? {
    guard let host = CookieHost(context.host) else { return nil }
    let registrable = host.registrableDomain
    let site = registrable ?? host.name
    guard sites[site] != nil else { return nil }
    let isSameSite = context.isSameSite
    let chosen = updateSite(site) { site, _ in
      site.markUsed(at: now) { entry in
        !entry.stored.isExpired(at: now)
          // A domain that became a public suffix after the cookie was stored no longer matches.
          && (entry.stored.isHostOnly || registrable == nil
            ? entry.stored.isHostOnly && entry.stored.domain == host.name
            : host.domainMatches(entry.stored.domain))
          && CookiePath.matches(context.path, entry.stored.path)
          && (context.isSecure || !entry.stored.isSecure)
          && (isSameSite || entry.stored.isSentCrossSite(by: context))
      }
    }
    guard !chosen.isEmpty else { return nil }
    return Self.text(of: chosen.sorted(by: Self.isSentBefore))
  }

  /// Whether one cookie is sent before another (step 4).
  private static func isSentBefore(_ one: Entry, _ other: Entry) -> Bool {
    (other.stored.path.utf8.count, one.stored.created.microseconds, one.serial)
      < (one.stored.path.utf8.count, other.stored.created.microseconds, other.serial)
  }

  /// Joins the cookies to the field's value (step 6).
  private static func text(of entries: [Entry]) -> String {
    var text: [UInt8] = []
    for (index, entry) in entries.enumerated() {
      if index > 0 { text.append(text: "; ") }
      text.append(text: entry.stored.name)
      if !entry.stored.name.isEmpty { text.append(UInt8(ascii: "=")) }
      text.append(text: entry.stored.value)
    }
    return String(decoding: text, as: UTF8.self)
  }
}

extension Cookie {
  /// Whether a cross-site request carries the cookie (step 3). A strict cookie is never sent; a lax one only with a safe top-level
  /// navigation.
  fileprivate func isSentCrossSite(by context: CookieContext) -> Bool {
    switch sameSite {
    case .unrestricted, nil: true
    case .strict: false
    case .lax: context.isTopLevelNavigation && context.isSafeMethod
    }
  }
}

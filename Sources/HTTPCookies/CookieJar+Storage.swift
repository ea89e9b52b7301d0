internal import Limits
package import TransferModel

extension CookieJar {
  /// Takes what a response's `Set-Cookie` fields say, as far as the sender may say so (RFC 6265bis §5.7).
  /// - Returns: what is different now, in the order in which it came about.
  package mutating func store(
    _ setCookieFields: [String], from context: CookieContext, now: Timestamp
  ) -> [Change] {
    guard !setCookieFields.isEmpty, context.acceptsCookies, let host = CookieHost(context.host) else {
      return []
    }
    let site = host.site
    var changes = purge(site, now: now)
    let defaultPath = CookiePath.defaultPath(of: context.path)
    for field in setCookieFields {
      guard let received = SetCookieParser.parse(field, defaultPath: defaultPath, now: now),
        let cookie = Cookie(
          received, from: context, host: host, defaultPath: defaultPath, isSameSite: context.isSameSite,
          now: now),
        !overlaysSecure(cookie, site: site, context: context)
      else { continue }
      changes += insert(cookie, site: site, now: now)
    }
    return changes + evictSurplus(now)
  }

  /// Step 16: who can listen on the line must not put a cookie over one that is secure. Those of another site never meet
  /// it in one request.
  private func overlaysSecure(_ cookie: Cookie, site: String, context: CookieContext) -> Bool {
    guard !cookie.isSecure, !context.isSecure else { return false }
    return sites[site, default: []].contains { entry in
      let other = entry.cookie
      return other.isSecure && CookieText.equal(other.name, cookie.name)
        && (CookieHost.isSameOrBelow(other.domain, cookie.domain)
          || CookieHost.isSameOrBelow(cookie.domain, other.domain))
        && CookiePath.matches(cookie.path, other.path)
    }
  }

  /// Steps 23 and 24, and the site's limit.
  mutating func insert(_ cookie: Cookie, site: String, now: Timestamp) -> [Change] {
    if cookie.isExpired(at: now) { return take(cookie.key, site: site) ? [.removed(cookie.key)] : [] }
    var changes: [Change] = []
    if let stored = place(cookie, site: site) { changes.append(.stored(stored)) }
    while sites[site, default: []].count > capacity.perSite,
      let victim = sites[site].map({ Self.first(of: $0, now) })
    {
      changes.append(.removed(victim.key))
      remove(at: victim.index, of: site)
    }
    return changes
  }

  /// The entry that goes before all others. Only numbers are read: copies of entries would cost more than all else.
  private static func first(of entries: [Entry], _ now: Timestamp) -> (index: Int, key: CookieKey) {
    let span = entries.span
    var first = 0
    var least = span[0].order(now)
    for index in span.indices.dropFirst() {
      let order = (
        Entry.rank(span[index].cookie.expiresDate, span[index].cookie.isSecure, now),
        span[index].cookie.lastAccess,
        span[index].cookie.created, span[index].serial
      )
      if order < least { (first, least) = (index, order) }
    }
    return (first, entries[first].cookie.key)
  }

  private mutating func evict(_ entry: Entry, from site: String) -> Change {
    take(entry.cookie.key, site: site)
    return .removed(entry.cookie.key)
  }

  /// Eviction classes for a full jar (§5.7), in eviction order.
  private enum Surplus: CaseIterable {
    case expired
    /// Of sites that have more than their fair share.
    case ofLargeSites
    case any
  }

  /// Evicts cookies beyond the jar's total capacity, with at most one pass over the jar per class.
  /// - Parameter time: the current time; nil if nothing was stored.
  mutating func evictSurplus(_ time: Timestamp?) -> [Change] {
    guard let now = time, count > capacity.total else { return [] }
    var changes: [Change] = []
    for surplus in Surplus.allCases where count > capacity.total {
      for (site, entry) in candidates(surplus, now) where count > capacity.total {
        // The site is back within its fair share.
        if surplus == .ofLargeSites, sites[site, default: []].count <= capacity.fairShare { continue }
        changes.append(evict(entry, from: site))
      }
    }
    return changes
  }

  private func candidates(_ surplus: Surplus, _ now: Timestamp) -> [(site: String, entry: Entry)] {
    var found: [(site: String, entry: Entry)] = []
    for (site, entries) in sites where surplus != .ofLargeSites || entries.count > capacity.fairShare {
      for entry in entries where surplus != .expired || entry.cookie.isExpired(at: now) {
        found.append((site, entry))
      }
    }
    return surplus == .any
      ? found.sorted { $0.entry.age < $1.entry.age }
      : found.sorted { Self.goesBefore($0.entry, $1.entry, now) }
  }

  /// §5.7's order of removal within a site: what has expired, what is not secure, the rest.
  private static func goesBefore(_ one: Entry, _ other: Entry, _ now: Timestamp) -> Bool {
    one.order(now) < other.order(now)
  }

  /// Removes what has expired of a site, so that nothing is compared with it.
  mutating func purge(_ site: String, now: Timestamp) -> [Change] {
    let expired = sites[site, default: []].map(\.cookie).filter { $0.isExpired(at: now) }.map(\.key)
    for key in expired { take(key, site: site) }
    return expired.map { .removed($0) }
  }
}

extension CookieJar.Entry {
  fileprivate func order(_ now: Timestamp) -> (Int, Timestamp, Timestamp, UInt64) {
    let (lastAccess, created, serial) = age
    return (Self.rank(cookie.expiresDate, cookie.isSecure, now), lastAccess, created, serial)
  }

  fileprivate static func rank(_ expiresDate: Timestamp?, _ isSecure: Bool, _ now: Timestamp) -> Int {
    if let expiresDate, expiresDate <= now { return 0 }
    return isSecure ? 2 : 1
  }

  /// The entry that has been unused for longest goes first.
  fileprivate var age: (Timestamp, Timestamp, UInt64) { (cookie.lastAccess, cookie.created, serial) }
}

extension Cookie {
  /// RFC 6265bis §5.7, steps 2 to 22 without 16; nil where one of them ignores the cookie.
  init?(
    _ received: ReceivedCookie, from context: CookieContext, host: CookieHost, defaultPath: String,
    isSameSite: Bool, now: Timestamp
  ) {
    guard !received.name.isEmpty || !received.value.isEmpty else { return nil }
    // The default path is as long as the URL's.
    guard (received.path ?? defaultPath).utf8.count <= Limits.cookieAttributeBytes.value else { return nil }
    guard let isHostOnly = Self.isHostOnly(received.domain ?? "", host) else { return nil }
    self.init(
      name: received.name, value: received.value,
      domain: isHostOnly ? host.name : received.domain ?? host.name, isHostOnly: isHostOnly,
      path: received.path ?? defaultPath, expiresDate: received.expiresDate, isSecure: received.isSecure,
      isHTTPOnly: received.isHTTPOnly, sameSite: received.sameSite, created: now, lastAccess: now)
    if isSecure, !context.isSecure { return nil }
    switch sameSite {
    case .unrestricted: if !isSecure { return nil }
    case .strict, .lax: if !isSameSite { return nil }
    // No browser's default: what may come from elsewhere is the accept policy's to say, as in URLSession.
    case nil: break
    }
    if CookiePrefix.fault(self, hasPath: received.path != nil) != nil { return nil }
  }

  /// Steps 7 to 10; nil where the host may not set cookies for that domain. An address has no subdomains, so its own
  /// address as the domain says nothing.
  private static func isHostOnly(_ domain: String, _ host: CookieHost) -> Bool? {
    guard !domain.isEmpty else { return true }
    guard host.domainMatches(domain) else {
      return host.isAddress && CookieHost(domain) == host ? true : nil
    }
    guard !host.isAddress else { return true }
    guard PublicSuffixList.contains(domain) else { return false }
    return domain == host.name ? true : nil
  }
}

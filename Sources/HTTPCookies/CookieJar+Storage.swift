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
    return changes
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

  /// Steps 23 and 24, and the limits.
  mutating func insert(_ cookie: Cookie, site: String, now: Timestamp) -> [Change] {
    if cookie.isExpired(at: now) { return take(cookie.key, site: site) ? [.removed(cookie.key)] : [] }
    var changes: [Change] = []
    if place(cookie), let stored = sites[site]?.first(where: { $0.cookie.key == cookie.key }) {
      changes.append(.stored(stored.cookie))
    }
    while sites[site, default: []].count > limits.perSite,
      let victim = firstToGo(of: sites[site, default: []], siteCount: nil, now)
    {
      changes.append(evict(victim))
    }
    while count > limits.total, let victim = firstToGo(now) { changes.append(evict(victim)) }
    return changes
  }

  private mutating func evict(_ entry: Entry) -> Change {
    take(entry.cookie.key, site: Self.site(ofDomain: entry.cookie.domain))
    return .removed(entry.cookie.key)
  }

  /// Of all sites.
  private func firstToGo(_ now: Timestamp) -> Entry? {
    let candidates = sites.values.compactMap { entries in
      firstToGo(of: entries, siteCount: entries.count, now).map { (entry: $0, siteCount: entries.count) }
    }
    return candidates.min {
      urgency($0.entry, siteCount: $0.siteCount, now) < urgency($1.entry, siteCount: $1.siteCount, now)
    }?.entry
  }

  /// - Parameter siteCount: nil: the site has too many.
  private func firstToGo(of entries: [Entry], siteCount: Int?, _ now: Timestamp) -> Entry? {
    entries.min { urgency($0, siteCount: siteCount, now) < urgency($1, siteCount: siteCount, now) }
  }

  /// §5.7's order of removal; within it, what was not used for longest goes first.
  private func urgency(_ entry: Entry, siteCount: Int?, _ now: Timestamp) -> (
    Int, Timestamp, Timestamp, UInt64
  ) {
    let cookie = entry.cookie
    var rank = cookie.isSecure ? 2 : 1
    if let siteCount, siteCount <= limits.fairShare { rank = 3 }
    if cookie.isExpired(at: now) { rank = 0 }
    return (rank, cookie.lastAccess, cookie.created, entry.serial)
  }

  /// Removes what has expired of a site, so that nothing is compared with it.
  mutating func purge(_ site: String, now: Timestamp) -> [Change] {
    let expired = sites[site, default: []].map(\.cookie).filter { $0.isExpired(at: now) }.map(\.key)
    for key in expired { take(key, site: site) }
    return expired.map { .removed($0) }
  }
}

extension Cookie {
  /// RFC 6265bis §5.7, steps 2 to 22 without 16; nil where one of them ignores the cookie.
  init?(
    _ received: ReceivedCookie, from context: CookieContext, host: CookieHost, defaultPath: String,
    isSameSite: Bool, now: Timestamp
  ) {
    guard !received.name.isEmpty || !received.value.isEmpty else { return nil }
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

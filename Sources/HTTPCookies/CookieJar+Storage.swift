internal import Limits
package import TransferModel

extension CookieJar {
  /// Stores the cookies of a response's `Set-Cookie` fields that the sender may set (RFC 6265bis §5.7).
  /// - Returns: the changes, in order.
  package mutating func store(
    _ setCookieFields: [String], from context: CookieContext, now: Timestamp
  ) -> [Change] {
    guard !setCookieFields.isEmpty, context.acceptsCookies, let host = CookieHost(context.host) else {
      return []
    }
    let defaultPath = CookiePath.defaultPath(of: context.path)
    let (isSameSite, most) = (context.isSameSite, capacity.perSite)
    var suffixes = PublicSuffixCache()
    var changes: [Change] = []
    updateSite(host.site) { site, serial in
      changes += site.purge(now).map { .removed($0) }
      for field in setCookieFields {
        guard let received = SetCookieParser.parse(field, defaultPath: defaultPath, now: now),
          let cookie = Cookie(
            received, from: context, host: host, defaultPath: defaultPath, isSameSite: isSameSite, now: now,
            &suffixes),
          cookie.isSecure || context.isSecure || !site.hasSecureCookie(overlaidBy: cookie)
        else { continue }
        site.set(cookie, &serial, upTo: most, now: now, &changes)
      }
    }
    changes += evictSurplus(now)
    return changes
  }

  private mutating func evict(_ entry: Entry, from site: String) -> Change {
    let key = entry.stored.key
    removeStored(key, site: site)
    return .removed(key)
  }

  /// Eviction classes for a full jar (§5.7), in eviction order.
  private enum EvictionClass: CaseIterable {
    case expired
    /// The cookies of sites that have more than their fair share.
    case ofLargeSites
    case any
  }

  /// Evicts cookies beyond the jar's total capacity, with at most one pass over the jar per class.
  /// - Parameter time: the current time; `nil` if nothing was stored.
  mutating func evictSurplus(_ time: Timestamp?) -> [Change] {
    guard let now = time, count > capacity.total else { return [] }
    var changes: [Change] = []
    for surplus in EvictionClass.allCases where count > capacity.total {
      for (site, entry) in candidates(surplus, now) where count > capacity.total {
        // The site is back within its fair share.
        if surplus == .ofLargeSites, sites[site]?.count ?? 0 <= capacity.fairShare { continue }
        changes.append(evict(entry, from: site))
      }
    }
    return changes
  }

  private func candidates(_ surplus: EvictionClass, _ now: Timestamp) -> [(site: String, entry: Entry)] {
    var found: [(site: String, entry: Entry)] = []
    for (name, site) in sites where surplus != .ofLargeSites || site.count > capacity.fairShare {
      for entry in site.entries where surplus != .expired || entry.stored.isExpired(at: now) {
        found.append((name, entry))
      }
    }
    return found.sorted {
      surplus == .any ? $0.entry.isOlder(than: $1.entry) : $0.entry.goesBefore($1.entry, now)
    }
  }
}

extension CookieSite {
  /// Whether a cookie from an insecure connection would overlay a secure one (step 16). Other sites need no check, because no request
  /// carries cookies of two sites.
  fileprivate func hasSecureCookie(overlaidBy cookie: Cookie) -> Bool {
    contains { other in
      other.isSecure && CookieText.equal(other.name, cookie.name)
        && (CookieHost.isSameOrBelow(other.domain, cookie.domain)
          || CookieHost.isSameOrBelow(cookie.domain, other.domain))
        && CookiePath.matches(cookie.path, other.path)
    }
  }

  /// Stores or removes a cookie, and evicts cookies beyond the site's limit (steps 23 and 24).
  mutating func set(
    _ cookie: Cookie, _ serial: inout UInt64, upTo most: Int, now: Timestamp,
    _ changes: inout [CookieJar.Change]
  ) {
    guard !cookie.isExpired(at: now) else {
      if remove(cookie.key) { changes.append(.removed(cookie.key)) }
      return
    }
    if let stored = place(cookie, &serial) { changes.append(.stored(stored)) }
    while count > most, let victim = evict() { changes.append(.removed(victim)) }
  }
}

extension CookieJar.Entry {
  /// Whether an entry is evicted before another (§5.7): expired cookies first, then cookies that are not secure, then the rest. Within
  /// each group the least recently used cookie goes first.
  fileprivate func goesBefore(_ other: Self, _ now: Timestamp) -> Bool {
    let (hasExpired, otherHasExpired) = (stored.isExpired(at: now), other.stored.isExpired(at: now))
    // Among expired cookies, isSecure does not matter.
    return hasExpired != otherHasExpired
      ? hasExpired : hasExpired ? isOlder(than: other) : priority < other.priority
  }

  /// Whether the entry was used less recently than `other`.
  fileprivate func isOlder(than other: Self) -> Bool {
    (lastAccess, stored.created, serial) < (other.lastAccess, other.stored.created, other.serial)
  }
}

extension Cookie {
  /// Makes the cookie to store (RFC 6265bis §5.7, steps 2 to 22 without 16); `nil` if one of the steps ignores the cookie.
  init?(
    _ received: ReceivedCookie, from context: CookieContext, host: CookieHost, defaultPath: String,
    isSameSite: Bool, now: Timestamp, _ suffixes: inout PublicSuffixCache
  ) {
    guard !received.name.isEmpty || !received.value.isEmpty else { return nil }
    // The default path may be as long as the URL's path.
    guard (received.path ?? defaultPath).utf8.count <= Limits.cookieAttributeBytes.value else { return nil }
    guard let isHostOnly = Self.isHostOnly(received.domain ?? "", host, &suffixes) else { return nil }
    self.init(
      name: received.name, value: received.value,
      domain: isHostOnly ? host.name : received.domain ?? host.name, isHostOnly: isHostOnly,
      path: received.path ?? defaultPath, expiresDate: received.expiresDate, isSecure: received.isSecure,
      isHTTPOnly: received.isHTTPOnly, sameSite: received.sameSite, created: now, lastAccess: now)
    if isSecure, !context.isSecure { return nil }
    switch sameSite {
    case .unrestricted: if !isSecure { return nil }
    case .strict, .lax: if !isSameSite { return nil }
    // Browsers assume lax here. As in URLSession, the accept policy decides about cross-site cookies instead.
    case nil: break
    }
    if CookiePrefix.fault(self, hasPath: received.path != nil) != nil { return nil }
  }

  /// Whether the cookie is for the host only (steps 7 to 10); `nil` if the host may not set cookies for that domain. An address may name
  /// itself as the domain.
  private static func isHostOnly(
    _ domain: String, _ host: CookieHost, _ suffixes: inout PublicSuffixCache
  ) -> Bool? {
    guard !domain.isEmpty else { return true }
    guard host.domainMatches(domain) else {
      return host.isAddress && CookieHost(domain) == host ? true : nil
    }
    guard !host.isAddress else { return true }
    guard suffixes.contains(domain) else { return false }
    return domain == host.name ? true : nil
  }
}

/// A cache of public-suffix lookups for one response, which may name the same domain a thousand times.
struct PublicSuffixCache {
  private var known: [String: Bool] = [:]

  mutating func contains(_ domain: String) -> Bool {
    if let answer = known[domain] { return answer }
    let answer = PublicSuffixList.contains(domain)
    known[domain] = answer
    return answer
  }
}

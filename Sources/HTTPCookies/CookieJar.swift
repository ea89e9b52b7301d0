internal import Limits
package import TransferModel

/// A session's cookies (HTTPCookieStorage; RFC 6265bis §5.7 and §5.8). They lie by site, so that a request looks at those of
/// its own site only.
package struct CookieJar: Sendable {
  /// What a store has to do to have what the jar has. That a cookie was sent is no change.
  package enum Change: Sendable, Equatable, Codable {
    case stored(Cookie)
    case removed(CookieKey)
  }

  /// RFC 6265bis §6.1 asks for 50 of a domain and 3000 in all.
  package struct Capacity: Sendable {
    package var perSite = Limits.cookiesOfSite.value
    package var total = Limits.cookies.value
    /// Where there are too many in all, sites that have more than this give first.
    package var fairShare = 50
    package init() {}
  }

  struct Entry: Sendable {
    var cookie: Cookie
    /// The place among all that were ever stored, for what the clock does not tell apart.
    let serial: UInt64
  }

  /// Cookies by `CookieHost.site`; no list is empty.
  var sites: [String: [Entry]] = [:]
  package private(set) var count = 0
  /// Bytes that they take in memory, approximately.
  package private(set) var size = 0
  private var nextSerial: UInt64 = 0
  let capacity: Capacity

  package init(capacity: Capacity = Capacity()) { self.capacity = capacity }

  /// What a store kept, in the order in which it was stored. Of two with one key the later holds.
  package init(_ cookies: [Cookie], capacity: Capacity = Capacity()) {
    self.init(capacity: capacity)
    for cookie in cookies { place(cookie, site: Self.site(ofDomain: cookie.domain)) }
  }

  /// All of them, in the order in which they were stored.
  package var cookies: [Cookie] { sites.values.joined().sorted { $0.serial < $1.serial }.map(\.cookie) }

  // MARK: What clients ask for

  package func list(_ filter: CookieFilter = CookieFilter()) -> [Cookie] {
    let isMeant = filter.test
    let entries = filter.site.map { sites[$0] ?? [] } ?? Array(sites.values.joined())
    return entries.filter { isMeant($0.cookie) }.sorted { $0.serial < $1.serial }.map(\.cookie)
  }

  /// Stores a client's cookies in order. An expired cookie removes the cookie that it would have replaced. Each cookie's `lastAccess`
  /// serves as the current time.
  @discardableResult
  package mutating func set(_ cookies: [Cookie]) -> [Change] {
    var changes: [Change] = []
    for cookie in cookies {
      let site = Self.site(ofDomain: cookie.domain)
      changes += purge(site, now: cookie.lastAccess)
      changes += insert(cookie, site: site, now: cookie.lastAccess)
    }
    return changes + evictSurplus(cookies.last?.lastAccess)
  }

  @discardableResult
  package mutating func set(_ cookie: Cookie) -> [Change] { set([cookie]) }

  /// The cookies that were removed.
  @discardableResult
  package mutating func remove(_ filter: CookieFilter = CookieFilter()) -> [Cookie] {
    let removed = list(filter)
    for cookie in removed { take(cookie.key, site: Self.site(ofDomain: cookie.domain)) }
    return removed
  }

  package mutating func removeAll() {
    sites = [:]
    (count, size) = (0, 0)
  }

  /// The cookies that were removed.
  @discardableResult
  package mutating func removeExpired(now: Timestamp) -> [Cookie] {
    let removed = cookies.filter { $0.isExpired(at: now) }
    for cookie in removed { take(cookie.key, site: Self.site(ofDomain: cookie.domain)) }
    return removed
  }

  /// Makes the change that another jar made.
  package mutating func apply(_ change: Change) {
    switch change {
    case .stored(let cookie): place(cookie, site: Self.site(ofDomain: cookie.domain))
    case .removed(let key): take(key, site: Self.site(ofDomain: key.domain))
    }
  }

  // MARK: Places

  static func site(ofDomain domain: String) -> String { CookieHost(domain)?.site ?? domain }

  /// Puts a cookie where it belongs. One that it replaces leaves it its time of creation and its place.
  /// - Parameter site: the cookie's.
  /// - Returns: the stored cookie; nil if nothing is different now, but the time of the last access.
  @discardableResult
  mutating func place(_ cookie: Cookie, site: String) -> Cookie? {
    guard let index = sites[site].flatMap(cookie.key.index) else {
      sites[site, default: []].append(Entry(cookie: cookie, serial: nextSerial))
      nextSerial += 1
      count += 1
      size += cookie.size
      return cookie
    }
    guard let old = sites[site]?[index].cookie else { return nil }
    var cookie = cookie
    cookie.created = old.created
    sites[site]?[index].cookie = cookie
    size += cookie.size - old.size
    return cookie.isSame(as: old) ? nil : cookie
  }

  @discardableResult
  mutating func take(_ key: CookieKey, site: String) -> Bool {
    guard let index = sites[site].flatMap(key.index) else { return false }
    remove(at: index, of: site)
    return true
  }

  mutating func remove(at index: Int, of site: String) {
    size -= sites[site]?.remove(at: index).cookie.size ?? 0
    if sites[site]?.isEmpty ?? false { sites[site] = nil }
    count -= 1
  }
}

extension Cookie {
  /// Bytes beside its texts.
  private static let overhead = 256

  /// Bytes that it takes in memory, approximately.
  package var size: Int {
    Self.overhead + name.utf8.count + value.utf8.count + domain.utf8.count + path.utf8.count
  }

  /// Bytes that cookies take at most that a field of that length sets.
  package static func size(ofField length: Int, host: Int) -> Int { overhead + length + host }
}

extension CookieKey {
  /// The place of the cookie with this key. Names come first, since they differ most. A key of each entry would be copied to be compared.
  fileprivate func index(in entries: [CookieJar.Entry]) -> Int? {
    let span = entries.span
    for index in span.indices {
      if CookieText.equal(span[index].cookie.name, name)
        && CookieText.equal(span[index].cookie.path, path)
        && CookieText.equal(span[index].cookie.domain, domain)
        && span[index].cookie.isHostOnly == isHostOnly
      {
        return index
      }
    }
    return nil
  }
}

internal import Limits
package import TransferModel

/// The cookies of a session (HTTPCookieStorage; RFC 6265bis §5.7 and §5.8). They are grouped by site, so that a request searches only its
/// own site.
package struct CookieJar: Sendable {
  /// A change that a store must repeat to have the same cookies. The use of a cookie is not a change.
  package enum Change: Sendable, Equatable {
    case stored(Cookie)
    case removed(CookieKey)

    package var key: CookieKey {
      switch self {
      case .stored(let cookie): cookie.key
      case .removed(let key): key
      }
    }
  }

  /// The limits of a jar. RFC 6265bis §6.1 requires at least 50 cookies per domain and 3000 in all.
  package struct Capacity: Sendable {
    package var perSite = Limits.cookiesOfSite.value
    package var total = Limits.cookies.value
    /// The number of cookies above which a site loses cookies first, when the jar is full.
    package var fairShare = 50
    package init() {}
  }

  typealias Entry = CookieSite.Entry

  /// The sites by `CookieHost.site`. Every site has cookies.
  private(set) var sites: [String: CookieSite] = [:]
  package private(set) var count = 0
  /// The approximate memory of the cookies in bytes.
  package private(set) var size = 0
  private var nextSerial: UInt64 = 0
  let capacity: Capacity

  package init(capacity: Capacity = Capacity()) { self.capacity = capacity }

  /// Makes a jar from stored cookies, in order of storage. Of two with the same key the later one counts.
  package init(_ cookies: [Cookie], capacity: Capacity = Capacity()) {
    self.init(capacity: capacity)
    for cookie in cookies { insert(cookie) }
  }

  /// All cookies, in order of storage.
  package var cookies: [Cookie] { entries.sorted { $0.serial < $1.serial }.map(\.cookie) }

  private var entries: [Entry] { sites.values.flatMap(\.entries) }

  // MARK: Client requests

  package func list(_ filter: CookieFilter = CookieFilter()) -> [Cookie] {
    let isMeant = filter.predicate
    let entries = filter.site.map { sites[$0]?.entries ?? [] } ?? entries
    return entries.filter { isMeant($0.cookie) }.sorted { $0.serial < $1.serial }.map(\.cookie)
  }

  /// Stores a client's cookies in order. An expired cookie removes the cookie that it would have replaced. Each cookie's `lastAccess`
  /// serves as the current time.
  @discardableResult
  package mutating func set(_ cookies: [Cookie]) -> [Change] {
    var changes: [Change] = []
    let most = capacity.perSite
    for cookie in cookies {
      updateSite(Self.site(ofDomain: cookie.domain)) { site, serial in
        changes += site.purge(cookie.lastAccess).map { .removed($0) }
        site.set(cookie, &serial, upTo: most, now: cookie.lastAccess, &changes)
      }
    }
    changes += evictSurplus(cookies.last?.lastAccess)
    return changes
  }

  @discardableResult
  package mutating func set(_ cookie: Cookie) -> [Change] { set([cookie]) }

  /// Removes the matching cookies and returns them.
  @discardableResult
  package mutating func remove(_ filter: CookieFilter = CookieFilter()) -> [Cookie] {
    let removed = list(filter)
    for cookie in removed { removeStored(cookie.key, site: Self.site(ofDomain: cookie.domain)) }
    return removed
  }

  package mutating func removeAll() {
    sites = [:]
    (count, size) = (0, 0)
  }

  /// Removes the expired cookies and returns them.
  @discardableResult
  package mutating func removeExpired(now: Timestamp) -> [Cookie] {
    let removed = cookies.filter { $0.isExpired(at: now) }
    for cookie in removed { removeStored(cookie.key, site: Self.site(ofDomain: cookie.domain)) }
    return removed
  }

  /// Repeats the change of another jar.
  package mutating func apply(_ change: Change) {
    switch change {
    case .stored(let cookie): insert(cookie)
    case .removed(let key): removeStored(key, site: Self.site(ofDomain: key.domain))
    }
  }

  // MARK: Sites

  static func site(ofDomain domain: String) -> String { CookieHost(domain)?.site ?? domain }

  /// Lets `body` change a site's cookies, then updates `count` and `size`. A site that ends up empty is removed.
  /// - Parameter body: receives the site, and the serial for the next new cookie.
  mutating func updateSite<Result>(_ name: String, _ body: (inout CookieSite, inout UInt64) -> Result)
    -> Result
  {
    var site = sites.removeValue(forKey: name) ?? CookieSite()
    let (before, bytes) = (site.count, site.size)
    let result = body(&site, &nextSerial)
    count += site.count - before
    size += site.size - bytes
    if !site.isEmpty { sites[name] = site }
    return result
  }

  private mutating func insert(_ cookie: Cookie) {
    updateSite(Self.site(ofDomain: cookie.domain)) { site, serial in _ = site.place(cookie, &serial) }
  }

  @discardableResult
  mutating func removeStored(_ key: CookieKey, site: String) -> Bool {
    sites[site] != nil && updateSite(site) { site, _ in site.remove(key) }
  }
}

extension Cookie {
  /// The memory of a cookie in bytes, without its texts.
  private static let overhead = 256

  /// The approximate memory of the cookie in bytes.
  package var size: Int {
    Self.overhead + name.utf8.count + value.utf8.count + domain.utf8.count + path.utf8.count
  }

  /// Returns the greatest size of a cookie from a field of that length.
  package static func size(ofField length: Int, host: Int) -> Int { overhead + length + host }
}

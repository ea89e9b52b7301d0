import TransferModel

@testable import HTTPCookies

/// A literal implementation of RFC 6265bis §5.7 and §5.8: one list, without an index. It receives attributes instead of fields and has
/// its own public suffixes, so that it shares no code with the tested jar.
struct ReferenceJar {
  struct Attributes {
    var name: String
    var value: String
    var maximumAge: Int64?
    /// The time of `Expires` in seconds after `start`.
    var expires: Int64?
    var domain: String?
    var path: String?
    var isSecure = false
    var isHTTPOnly = false
    var sameSite: String?
  }
  struct Stored {
    var cookie: Cookie
    var serial: Int
  }
  struct Request {
    var host: String
    var path: String
    var isSecure: Bool
    var document: (host: String, isSecure: Bool)?
  }

  static let suffixes = ["com", "co.uk", "github.io", "localhost", "uk", "io"]
  static let addresses = ["127.0.0.1", "::1"]

  var list: [Stored] = []
  var serial = 0
  var capacity: CookieJar.Capacity

  init(capacity: CookieJar.Capacity) { self.capacity = capacity }

  /// Returns the public suffix with one more label.
  static func site(_ host: String) -> String {
    if addresses.contains(host) || suffixes.contains(host) { return host }
    let labels = host.split(separator: ".").map(String.init)
    for index in labels.indices where suffixes.contains(labels[index...].joined(separator: ".")) {
      return labels[(index - 1)...].joined(separator: ".")
    }
    return host
  }

  func domainMatches(_ string: String, _ domain: String) -> Bool {
    string == domain || string.hasSuffix("." + domain) && !Self.addresses.contains(string)
  }

  func pathMatches(_ request: String, _ cookie: String) -> Bool {
    request == cookie || request.hasPrefix(cookie) && cookie.hasSuffix("/") || request.hasPrefix(cookie + "/")
  }

  func isSameSite(_ request: Request) -> Bool {
    guard let document = request.document else { return true }
    return document.isSecure == request.isSecure && Self.site(document.host) == Self.site(request.host)
  }

  func defaultPath(_ path: String) -> String {
    let directories = path.split(separator: "/", omittingEmptySubsequences: false).dropLast()
    return directories.count < 2 ? "/" : directories.joined(separator: "/")
  }

  mutating func receive(_ attributes: Attributes, _ request: Request, now: Timestamp) {
    // Expired cookies must be removed before each decision.
    list.removeAll {
      ($0.cookie.expiresDate.map { $0 <= now } ?? false)
        && Self.site($0.cookie.domain) == Self.site(request.host)
    }
    if attributes.name.isEmpty && attributes.value.isEmpty { return }
    var expires: Timestamp?
    if let age = attributes.maximumAge {
      expires =
        age <= 0
        ? Timestamp(seconds: 0) : Timestamp(microseconds: now.microseconds + min(age, 34_560_000) * 1_000_000)
    } else if let date = attributes.expires {
      expires = min(later(date), Timestamp(microseconds: now.microseconds + 34_560_000 * 1_000_000))
    }
    var domain = (attributes.domain ?? "").lowercased()
    if domain.hasPrefix(".") { domain.removeFirst() }
    if Self.suffixes.contains(domain) {
      if domain != request.host { return }
      domain = ""
    }
    if !domain.isEmpty, !domainMatches(request.host, domain) { return }
    // An address has no subdomains. This goes beyond the text of the RFC.
    if Self.addresses.contains(domain) { domain = "" }
    let isHostOnly = domain.isEmpty
    if isHostOnly { domain = request.host }
    var path = defaultPath(request.path)
    if let given = attributes.path, given.hasPrefix("/") { path = given }
    if attributes.isSecure, !request.isSecure { return }
    if !attributes.isSecure, !request.isSecure,
      list.contains(where: {
        $0.cookie.name == attributes.name && $0.cookie.isSecure
          && (domainMatches($0.cookie.domain, domain) || domainMatches(domain, $0.cookie.domain))
          && pathMatches(path, $0.cookie.path) && Self.site($0.cookie.domain) == Self.site(domain)
      })
    {
      return
    }
    let sameSite = attributes.sameSite.flatMap { Cookie.SameSite(rawValue: $0.lowercased()) }
    if let sameSite, sameSite != .unrestricted, !isSameSite(request) { return }
    if sameSite == .unrestricted, !attributes.isSecure { return }
    let (name, value) = (attributes.name.lowercased(), attributes.value.lowercased())
    if name.hasPrefix("__secure-"), !attributes.isSecure { return }
    if name.hasPrefix("__host-"), !attributes.isSecure || !isHostOnly || attributes.path == nil || path != "/"
    {
      return
    }
    if name.isEmpty, value.hasPrefix("__secure-") || value.hasPrefix("__host-") { return }
    var new = Stored(
      cookie: Cookie(
        name: attributes.name, value: attributes.value, domain: domain, isHostOnly: isHostOnly, path: path,
        expiresDate: expires, isSecure: attributes.isSecure, isHTTPOnly: attributes.isHTTPOnly,
        sameSite: sameSite,
        created: now, lastAccess: now), serial: serial)
    serial += 1
    if let old = list.firstIndex(where: { $0.cookie.key == new.cookie.key }) {
      new.cookie.created = list[old].cookie.created
      new.serial = list[old].serial
      list.remove(at: old)
    }
    if let expires, expires <= now { return }
    list.append(new)
    removeExcess(Self.site(domain))
  }

  private func ofSite(_ site: String) -> [Stored] { list.filter { Self.site($0.cookie.domain) == site } }

  private func oldest(_ candidates: [Stored]) -> Stored? {
    candidates.min {
      ($0.cookie.lastAccess, $0.cookie.created, $0.serial) < (
        $1.cookie.lastAccess, $1.cookie.created, $1.serial
      )
    }
  }

  private mutating func removeExcess(_ site: String) {
    while ofSite(site).count > capacity.perSite {
      let all = ofSite(site)
      guard let victim = oldest(all.filter { !$0.cookie.isSecure }) ?? oldest(all) else { return }
      list.removeAll { $0.serial == victim.serial }
    }
  }

  /// Evicts cookies after a response was read.
  mutating func removeSurplus(now: Timestamp) {
    func isExpired(_ stored: Stored) -> Bool { stored.cookie.expiresDate.map { $0 <= now } ?? false }
    while list.count > capacity.total {
      let crowded = list.filter { ofSite(Self.site($0.cookie.domain)).count > capacity.fairShare }
      guard
        let victim = oldest(list.filter(isExpired)) ?? oldest(crowded.filter { !$0.cookie.isSecure })
          ?? oldest(crowded)
          ?? oldest(list)
      else { return }
      list.removeAll { $0.serial == victim.serial }
    }
  }

  mutating func header(_ request: Request, now: Timestamp) -> String? {
    var chosen: [Stored] = []
    for index in list.indices {
      let cookie = list[index].cookie
      if let expires = cookie.expiresDate, expires <= now { continue }
      if cookie.isHostOnly ? request.host != cookie.domain : !domainMatches(request.host, cookie.domain) {
        continue
      }
      if !cookie.isHostOnly, Self.suffixes.contains(cookie.domain) { continue }
      if !pathMatches(request.path, cookie.path) { continue }
      if cookie.isSecure, !request.isSecure { continue }
      if let sameSite = cookie.sameSite, sameSite != .unrestricted, !isSameSite(request) { continue }
      list[index].cookie.lastAccess = now
      chosen.append(list[index])
    }
    if chosen.isEmpty { return nil }
    chosen.sort {
      let (one, other) = ($0.cookie, $1.cookie)
      if one.path.count != other.path.count { return one.path.count > other.path.count }
      return (one.created, $0.serial) < (other.created, $1.serial)
    }
    return chosen.map { $0.cookie.name.isEmpty ? $0.cookie.value : "\($0.cookie.name)=\($0.cookie.value)" }
      .joined(separator: "; ")
  }
}

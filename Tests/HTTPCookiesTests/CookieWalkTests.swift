import TestSupport
import Testing
import TransferModel

@testable import HTTPCookies

/// Random walks through a jar, compared with a literal implementation of the rules.
@Suite(.serialized, .blocking) struct CookieWalkTests {
  private static let hosts = [
    "example.com", "www.example.com", "a.www.example.com", "other.com", "com", "shop.co.uk", "www.shop.co.uk",
    "co.uk",
    "alice.github.io", "x.alice.github.io", "bob.github.io", "github.io", "localhost", "app.localhost",
    "127.0.0.1", "::1",
  ]
  private static let domains =
    hosts + ["Example.COM", ".example.com", "", ".", "0.0.1", "uk", "io", "nowhere.com"]
  private static let paths = ["/", "/a", "/a/", "/a/b", "/ab", "/a/b/c", "/b"]

  @Test(arguments: 0..<240)
  func `jar agrees with the reference`(_ seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var capacity = CookieJar.Capacity()
    if seed % 2 == 0 { (capacity.perSite, capacity.total, capacity.fairShare) = (6, 14, 3) }
    var (jar, reference) = (CookieJar(capacity: capacity), ReferenceJar(capacity: capacity))
    var (mirror, now) = ([CookieKey: Cookie](), start)
    // Half of the walks use few hosts, so that cookies collide.
    let hosts = seed % 4 < 2 ? Self.hosts : Array(Self.hosts.shuffled(using: &random).prefix(4))
    for step in 0..<100 {
      if Int.random(in: 0..<3, using: &random) > 0 {
        now = Timestamp(microseconds: now.microseconds + Int64.random(in: 0..<20_000_000, using: &random))
      }
      let request = Self.request(hosts, using: &random)
      let context = CookieContext(
        host: request.host, path: request.path, isSecure: request.isSecure,
        mainDocumentHost: request.document?.host,
        mainDocumentIsSecure: request.document?.isSecure ?? false)
      if Bool.random(using: &random) {
        let all = (0..<Int.random(in: 1...3, using: &random)).map { _ in
          Self.attributes(hosts, using: &random)
        }
        let changes = jar.store(all.map { Self.field($0, using: &random) }, from: context, now: now)
        for attributes in all { reference.receive(attributes, request, now: now) }
        reference.removeSurplus(now: now)
        for change in changes {
          switch change {
          case .stored(let cookie): mirror[cookie.key] = cookie
          case .removed(let key): mirror[key] = nil
          }
        }
      } else {
        #expect(jar.header(for: context, now: now) == reference.header(request, now: now), "\(seed), \(step)")
      }
      let cookies = jar.cookies
      #expect(cookies == reference.list.sorted { $0.serial < $1.serial }.map(\.cookie), "\(seed), \(step)")
      #expect(Self.timeless(Array(mirror.values)) == Self.timeless(cookies), "\(seed), \(step): changes")
      #expect(jar.count == cookies.count && jar.sites.values.allSatisfy { !$0.isEmpty })
    }
    let expired = Set(jar.removeExpired(now: now).map(\.key))
    #expect(expired == Set(reference.list.map(\.cookie).filter { $0.isExpired(at: now) }.map(\.key)))
  }

  private static func timeless(_ cookies: [Cookie]) -> [CookieKey: Cookie] {
    var all: [CookieKey: Cookie] = [:]
    for var cookie in cookies {
      cookie.lastAccess = start
      all[cookie.key] = cookie
    }
    return all
  }

  private static func request(_ hosts: [String], using random: inout SplitMix64) -> ReferenceJar.Request {
    ReferenceJar.Request(
      host: pick(hosts, &random), path: pick(paths, &random),
      isSecure: Int.random(in: 0..<3, using: &random) > 0,
      document: Int.random(in: 0..<3, using: &random) == 0
        ? (pick(hosts, &random), Bool.random(using: &random)) : nil)
  }

  private static func attributes(_ hosts: [String], using random: inout SplitMix64) -> ReferenceJar.Attributes
  {
    func maybe<Value>(_ chance: Int, _ make: @autoclosure () -> Value) -> Value? {
      Int.random(in: 0..<chance, using: &random) == 0 ? make() : nil
    }
    var attributes = ReferenceJar.Attributes(
      name: pick(["a", "a", "b", "A", "", "__Host-a", "__secure-a"], &random),
      value: pick(["1", "2", "", "__Host-x", "x=y"], &random))
    attributes.maximumAge = maybe(3, ()).map { pick([0, -5, 10, 60, 600, 99_999_999], &random) }
    attributes.expires = maybe(4, ()).map { pick([-100, 100, 1000, 100_000_000], &random) }
    attributes.domain = maybe(2, ()).map { pick(Bool.random(using: &random) ? hosts : domains, &random) }
    attributes.path = maybe(2, ()).map { pick(paths + ["", "relative"], &random) }
    attributes.isSecure = maybe(2, ()) != nil
    attributes.isHTTPOnly = maybe(3, ()) != nil
    attributes.sameSite = maybe(2, ()).map { pick(["Strict", "lax", "None", "NONE", "huh"], &random) }
    return attributes
  }

  /// Returns the field with these attributes, in any order.
  private static func field(_ attributes: ReferenceJar.Attributes, using random: inout SplitMix64) -> String {
    var parts: [String] = []
    if let age = attributes.maximumAge { parts.append("Max-Age=\(age)") }
    if let date = attributes.expires { parts.append("expires=\(httpDate(later(date)))") }
    if let domain = attributes.domain { parts.append("Domain=\(domain)") }
    if let path = attributes.path { parts.append("PATH=\(path)") }
    if attributes.isSecure { parts.append("Secure") }
    if attributes.isHTTPOnly { parts.append("HttpOnly") }
    if let sameSite = attributes.sameSite { parts.append("SameSite=\(sameSite)") }
    parts.shuffle(using: &random)
    return (["\(attributes.name)=\(attributes.value)"] + parts).joined(separator: "; ")
  }

  private static func httpDate(_ date: Timestamp) -> String {
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    let text = date.description
    let month = Int(text.dropFirst(5).prefix(2)) ?? 1
    return
      "Mon, \(text.dropFirst(8).prefix(2)) \(months[month - 1]) \(text.prefix(4)) \(text.dropFirst(11).prefix(8)) GMT"
  }

  private static func pick<Element>(_ elements: [Element], _ random: inout SplitMix64) -> Element {
    elements[Int.random(in: 0..<elements.count, using: &random)]
  }
}

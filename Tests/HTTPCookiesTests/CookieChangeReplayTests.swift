import TestSupport
import Testing
import TransferModel

@testable import HTTPCookies

/// One jar repeats the changes of another. The service and the worker have a jar each for one session.
@Suite struct CookieChangeReplayTests {
  private static func cookie(_ name: String, _ value: String, on domain: String = "a.test") -> Cookie {
    Cookie(
      name: name, value: value, domain: domain, isHostOnly: true, created: start, lastAccess: start)
  }

  @Test func `stored and removed cookies are mirrored`() {
    var jar = CookieJar()
    let (first, second) = (Self.cookie("a", "1"), Self.cookie("b", "2"))
    jar.apply(.stored(first))
    jar.apply(.stored(second))
    #expect(jar.cookies == [first, second] && jar.count == 2)
    // The new cookie takes the place of the first one.
    jar.apply(.stored(Self.cookie("a", "3")))
    #expect(jar.cookies == [Self.cookie("a", "3"), second])
    jar.apply(.removed(first.key))
    jar.apply(.removed(first.key))
    #expect(jar.cookies == [second] && jar.count == 1)
    jar.apply(.removed(Self.cookie("b", "", on: "other.test").key))
    #expect(jar.count == 1)
  }

  /// Limits apply only in the jar that made the change.
  @Test func `mirror has no limit of its own`() {
    var capacity = CookieJar.Capacity()
    (capacity.perSite, capacity.total) = (1, 1)
    var jar = CookieJar(capacity: capacity)
    for number in 0..<5 { jar.apply(.stored(Self.cookie("\(number)", ""))) }
    #expect(jar.count == 5)
  }

  @Test(arguments: 0..<20) func `mirror stays equal under random changes`(_ seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var capacity = CookieJar.Capacity()
    (capacity.perSite, capacity.total, capacity.fairShare) = (4, 9, 2)
    var (jar, mirror) = (CookieJar(capacity: capacity), CookieJar())
    var now = start
    for _ in 0..<400 {
      now.microseconds += Int64.random(in: 0...3_000_000, using: &random)
      let site =
        "https://\(["a.test", "w.a.test", "b.test", "c.test"].randomElement(using: &random) ?? "")/p/q"
      let name = "n\(Int.random(in: 0..<6, using: &random))"
      let changes: [CookieJar.Change]
      switch Int.random(in: 0..<6, using: &random) {
      case 0: changes = jar.remove(CookieFilter(name: name)).map { .removed($0.key) }
      case 1: changes = jar.removeExpired(now: now).map { .removed($0.key) }
      case 2: changes = jar.set(Self.cookie(name, "\(random.next() % 3)", on: "a.test"))
      default:
        let attributes = ["", "; Path=/", "; Max-Age=5", "; Max-Age=0", "; Secure", "; HttpOnly"]
        let field = "\(name)=\(random.next() % 3)\(attributes.randomElement(using: &random) ?? "")"
        changes = jar.store([field], from: request(site), now: now)
      }
      for change in changes { mirror.apply(change) }
      #expect(mirror.cookies.map(\.key) == jar.cookies.map(\.key))
      #expect(mirror.cookies.map(\.value) == jar.cookies.map(\.value))
      #expect(mirror.cookies.map(\.expiresDate) == jar.cookies.map(\.expiresDate))
      #expect(mirror.cookies.map(\.created) == jar.cookies.map(\.created))
    }
    #expect(jar.count > 0)
  }
}

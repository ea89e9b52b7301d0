import Testing
import TransferModel

@testable import HTTPCookies

/// The examples of RFC 6265 and RFC 6265bis, and the behaviour of Apple's storage.
@Suite struct CookieJarTests {
  @Test func `cookie without Domain is sent to its host only`() {
    let jar = CookieJar.of(["SID=31d4d96e407aad42"], from: "https://www.site.example/")
    #expect(jar.sent("https://www.site.example/any") == "SID=31d4d96e407aad42")
    #expect(jar.sent("https://site.example/") == nil)
    #expect(
      jar.sent("https://a.www.site.example/") == nil,
      "§4.1.2.3: a cookie without Domain is sent only to its origin")
  }

  @Test func `cookie with Domain is sent to all subdomains`() {
    let jar = CookieJar.of(["SID=31d4; Path=/; Domain=site.example"], from: "https://www.site.example/a/b")
    for host in ["site.example", "www.site.example", "www.corp.site.example"] {
      #expect(jar.sent("https://\(host)/") == "SID=31d4", "§4.1.2.3 \(host)")
    }
    #expect(jar.sent("https://other.example/") == nil)
  }

  @Test func `cookie is removed with the same path and domain only`() {
    var jar = CookieJar()
    let www = request("https://www.site.example/")
    _ = jar.store(
      ["SID=31d4; Path=/; Secure; HttpOnly", "lang=en-US; Path=/; Domain=site.example"], from: www, now: start
    )
    #expect(jar.sent("https://www.site.example/") == "SID=31d4; lang=en-US")
    #expect(jar.sent("http://www.site.example/") == "lang=en-US")
    _ = jar.store(
      ["lang=en-US; Expires=Wed, 09 Jun 2026 10:18:14 GMT; Path=/; Domain=site.example"], from: www,
      now: start)
    #expect(jar.sent("https://www.site.example/") == "SID=31d4; lang=en-US")
    let elsewhere = jar.store(["lang=; Expires=Sun, 06 Nov 1994 08:49:37 GMT"], from: www, now: start)
    #expect(elsewhere == [], "a cookie is deleted only with its own path and domain")
    let removed = jar.store(
      ["lang=; Expires=Sun, 06 Nov 1994 08:49:37 GMT; Path=/; Domain=site.example"], from: www, now: start)
    #expect(
      removed == [.removed(CookieKey(domain: "site.example", isHostOnly: false, path: "/", name: "lang"))])
    #expect(jar.sent("https://www.site.example/") == "SID=31d4")
  }

  @Test func `names differ by case`() {
    let jar = CookieJar.of(["SID=31d4", "sid=31d4"], from: "https://site.example/")
    #expect(jar.sent("https://site.example/") == "SID=31d4; sid=31d4")
  }

  /// §4.1.2.3 and §5.7, steps 7 to 10: which host may set cookies for which domain.
  @Test(arguments: [
    ("foo.site.example", "site.example", ".site.example"),
    ("foo.site.example", ".site.example", ".site.example"),
    ("foo.site.example", "foo.site.example", ".foo.site.example"),
    ("foo.site.example", "FOO.Site.Example", ".foo.site.example"),
    ("foo.site.example", "bar.site.example", nil), ("foo.site.example", "baz.foo.site.example", nil),
    ("foo.site.example", "example", nil), ("foo.site.example", "", "foo.site.example"),
    ("foo.site.example", ".", "foo.site.example"), ("foo.site.example", "site.example.", nil),
    ("foo.site.example", "..site.example", nil), ("site.example.", "site.example", ".site.example"),
    ("www.example.co.uk", "co.uk", nil), ("alice.github.io", "github.io", nil),
    ("github.io", "github.io", "github.io"),
    ("localhost", "localhost", "localhost"), ("localhost", "", "localhost"),
    ("app.localhost", "localhost", nil),
    ("127.0.0.1", "127.0.0.1", "127.0.0.1"), ("127.0.0.1", "0.0.1", nil), ("127.0.0.1", "1", nil),
    ("[::1]", "[::1]", "::1"), ("[::1]", "0::1", "::1"), ("[::1]", "1", nil),
    ("xn--bcher-kva.com", "bücher.com", nil),
  ])
  func `host sets cookies for higher domains`(_ host: String, _ domain: String, _ stored: String?) {
    let cookies = CookieJar.of(["a=b; Domain=\(domain)"], from: "https://\(host)/").cookies
    #expect(cookies.map { $0.isHostOnly ? $0.domain : "." + $0.domain } == (stored.map { [$0] } ?? []))
  }

  /// The lists of §5.4, at https://site.example/.
  @Test(arguments: [
    ("__Secure-SID=12345; Domain=site.example", false), ("__secure-SID=12345; Domain=site.example", false),
    ("__SECURE-SID=12345; Domain=site.example", false), ("__Host-SID=12345", false),
    ("__host-SID=12345; Secure", false),
    ("__host-SID=12345; Domain=site.example", false),
    ("__HOST-SID=12345; Domain=site.example; Path=/", false),
    ("__Host-SID=12345; Secure; Domain=site.example; Path=/", false),
    ("__host-SID=12345; Secure; Domain=site.example; Path=/", false),
    ("__HOST-SID=12345; Secure; Domain=site.example; Path=/", false),
    ("__Secure-SID=12345; Domain=site.example; Secure", true),
    ("__secure-SID=12345; Domain=site.example; Secure", true),
    ("__SECURE-SID=12345; Domain=site.example; Secure", true), ("__Host-SID=12345; Secure; Path=/", true),
    ("__host-SID=12345; Secure; Path=/", true), ("__HOST-SID=12345; Secure; Path=/", true),
    // Step 22: nameless cookies that look like prefixed ones.
    ("__Host-x", false), ("=__Secure-x=y; Secure", false), ("__Hostess=1", true),
    ("__Host-x=1; Secure; Path=/a", false),
  ])
  func `prefixed names need their attributes`(_ field: String, _ isKept: Bool) {
    #expect(
      CookieJar.of([field], from: "https://site.example/").cookies.count == (isKept ? 1 : 0), "§5.4 \(field)")
    let isPlain = isKept && !field.contains("Secure")
    #expect(
      CookieJar.of([field], from: "http://site.example/").cookies.count == (isPlain ? 1 : 0), "§5.4 \(field)")
  }

  @Test func `empty cookie is ignored`() {
    #expect(CookieJar.of(["", "=", " ; Path=/"], from: "https://a.example/").count == 0)
  }

  @Test func `nameless cookies are sent as values`() {
    let jar = CookieJar.of(["alone", "=b=c; Path=/", "d="], from: "https://a.example/")
    #expect(jar.sent("https://a.example/") == "b=c; d=", "the second replaces the first")
  }

  @Test func `secure cookie needs https`() {
    #expect(CookieJar.of(["a=b; Secure"], from: "http://site.example/").count == 0, "§5.7 step 13")
    #expect(CookieJar.of(["a=b; Secure"], from: "http://localhost/").count == 0, "only https is secure")
    let jar = CookieJar.of(["a=b; Secure"], from: "https://site.example/")
    #expect(jar.sent("http://site.example/") == nil)
    #expect(jar.sent("https://site.example/") == "a=b")
  }

  /// §5.7 step 16, with the example in its note.
  @Test(arguments: [
    ("a=new; Path=/", true), ("a=new; Path=/foo", true), ("a=new; Path=/login", false),
    ("a=new; Path=/login/en", false),
    ("a=new; Path=/loginx", true), ("A=new; Path=/login", true),
    ("a=new; Path=/login; Domain=site.example", false),
    ("a=; Path=/login; Max-Age=0", false),
  ])
  func `insecure connection does not overlay secure cookies`(_ field: String, _ isKept: Bool) {
    var jar = CookieJar.of(["a=old; Path=/login; Secure"], from: "https://www.site.example/")
    let changes = jar.store([field], from: request("http://www.site.example/"), now: start)
    #expect(changes.isEmpty != isKept, "step 16 \(field)")
    #expect(jar.sent("https://www.site.example/login")?.contains("a=old") == true)
    let secure = jar.store([field], from: request("https://www.site.example/"), now: later(1))
    #expect(isKept || !secure.isEmpty || field.contains("Max-Age"), "over https, the cookie can be replaced")
  }

  /// §5.2 and §5.7 step 18: which cookies a request for another site's document may set and get. Without SameSite, the accept policy
  /// decides, as in URLSession.
  @Test(arguments: [
    ("https://www.site.example", nil, "none strict lax plain"),
    ("https://www.site.example", "https://site.example", "none strict lax plain"),
    ("https://www.site.example", "http://site.example", "none plain"),
    ("https://www.site.example", "https://other.example", "none plain"),
    ("https://www.site.example", "https://example", "none plain"),
    ("https://www.site.example", "https://..", "none plain"),
  ])
  func `SameSite limits cross site cookies`(_ url: String, _ document: String?, _ expected: String) {
    let fields = ["none=; SameSite=None; Secure", "strict=; SameSite=Strict", "lax=; SameSite=Lax", "plain="]
    let names = expected.split(separator: " ").map(String.init)
    #expect(CookieJar.of(fields, from: url, document: document).cookies.map(\.name) == names, "step 18")
    let sent = CookieJar.of(fields, from: url).sent(url, from: document)
    #expect(sent == names.map { $0 + "=" }.joined(separator: "; "), "§5.8.3 step 3")
  }

  @Test func `site of an address or a single label is the host`() {
    for host in ["127.0.0.1", "localhost", "[::1]", "github.io"] {
      #expect(request("http://\(host)/", from: "http://\(host)/").isSameSite, "\(host)")
    }
    #expect(!request("http://127.0.0.1/", from: "http://127.0.0.2/").isSameSite)
    #expect(!request("http://alice.github.io/", from: "http://bob.github.io/").isSameSite)
    #expect(!request("http://alice.github.io/", from: "http://github.io/").isSameSite)
  }

  @Test func `SameSite None needs Secure`() {
    #expect(CookieJar.of(["a=b; SameSite=None"], from: "https://site.example/").count == 0)
  }

  /// HTTPCookie.AcceptPolicy.
  @Test(
    arguments: [
      (CookieAcceptPolicy.always, nil, true), (.always, "https://other.example", true), (.never, nil, false),
      (.onlyFromMainDocumentDomain, nil, true), (.onlyFromMainDocumentDomain, "https://site.example", true),
      (.onlyFromMainDocumentDomain, "http://a.b.site.example", true),
      (.onlyFromMainDocumentDomain, "https://other.example", false),
    ] as [(CookieAcceptPolicy, String?, Bool)])
  func `policy limits third parties`(_ policy: CookieAcceptPolicy, _ document: String?, _ isKept: Bool) {
    var jar = CookieJar()
    let context = request("https://www.site.example/", from: document, policy: policy)
    _ = jar.store(["a=b; SameSite=None; Secure"], from: context, now: start)
    #expect(jar.count == (isKept ? 1 : 0))
  }

  /// §5.8.3 step 4.
  @Test func `cookies are sent by path length and age`() {
    var jar = CookieJar()
    let context = request("https://site.example/a/b/c")
    _ = jar.store(["short=; Path=/", "first=; Path=/a"], from: context, now: start)
    _ = jar.store(["long=; Path=/a/b", "second=; Path=/a", "same=; Path=/a"], from: context, now: later(1))
    _ = jar.store(["first=again; Path=/a"], from: context, now: later(2))
    #expect(jar.sent("https://site.example/a/b/c") == "long=; first=again; second=; same=; short=")
    #expect(jar.cookies.first { $0.name == "first" }?.created == start, "step 23.3")
  }

  @Test func `changes report stored and removed cookies`() throws {
    var jar = CookieJar()
    let context = request("https://site.example/x/y")
    let first = jar.store(["a=1"], from: context, now: start)
    let cookie = Cookie(
      name: "a", value: "1", domain: "site.example", isHostOnly: true, path: "/x", created: start,
      lastAccess: start)
    #expect(first == [.stored(cookie)])
    #expect(jar.store(["a=1"], from: context, now: later(1)) == [], "an unchanged cookie causes no change")
    #expect(jar.header(for: context, now: later(2)) == "a=1")
    #expect(jar.cookies.first?.lastAccess == later(2))
    #expect(jar.store(["a=2; Max-Age=5"], from: context, now: later(3)).count == 1)
    #expect(jar.header(for: context, now: later(8)) == nil, "the cookie has expired")
    let anew = jar.store(["b=1; Max-Age=1"], from: context, now: later(8))
    #expect(anew.first == .removed(cookie.key) && anew.count == 2)
    #expect(jar.removeExpired(now: later(9)).map(\.name) == ["b"])
    #expect(jar.count == 0)
  }

  @Test func `clients list, set and remove cookies`() throws {
    var jar = CookieJar.of(["a=1", "b=2; Domain=site.example; Path=/p"], from: "https://www.site.example/")
    _ = jar.store(["c=3"], from: request("https://other.example/"), now: start)
    func names(_ domain: String?, path: String? = nil, name: String? = nil) -> String {
      let filter = domain.map { CookieFilter(domain: $0, path: path, name: name) }
      return (filter ?? CookieFilter(path: path, name: name)).map { jar.list($0).map(\.name).joined() } ?? "?"
    }
    #expect(names(nil) == "abc")
    #expect(names("site.example") == "b")
    #expect(names("WWW.site.example") == "a")
    #expect(names(".site.example") == "ab")
    #expect(names(".example") == "abc")
    #expect(names("example") == "")
    #expect(names(nil, path: "/p") == "b")
    #expect(names(".example", name: "c") == "c")
    for domain in ["no host", "", ".", "münchen.de"] { #expect(names(domain) == "?", "\(domain)") }
    var given = jar.cookies[0]
    (given.value, given.created, given.lastAccess) = ("9", later(5), later(5))
    var kept = given
    kept.created = start
    #expect(jar.set(given) == [.stored(kept)])
    given.expiresDate = later(1)
    #expect(jar.set(given) == [.removed(given.key)])
    #expect(jar.remove(try #require(CookieFilter(domain: ".site.example"))).map(\.name) == ["b"])
    #expect(jar.cookies.map(\.name) == ["c"])
    #expect(CookieJar(jar.cookies).cookies == jar.cookies)
    jar.removeAll()
    #expect(jar.cookies.isEmpty && jar.count == 0)
  }

  @Test func `names are compared by octets`() {
    let jar = CookieJar.of(["\u{E9}=1", "e\u{301}=2"], from: "https://site.example/")
    #expect(jar.count == 2)
  }

  /// The order of removal within a site in §5.7.
  @Test func `site has a limit of cookies`() {
    var jar = CookieJar()
    let context = request("https://site.example/")
    _ = jar.store((0..<180).map { "n\($0)=; \($0 < 5 ? "Secure" : "")" }, from: context, now: start)
    #expect(jar.count == 180)
    let changes = jar.store(["new="], from: context, now: later(1))
    #expect(changes.count == 2 && jar.count == 180)
    #expect(!jar.cookies.contains { $0.name == "n5" }, "the oldest cookie without Secure is evicted")
  }

  /// Sites with more than their fair share lose cookies first, then the least recently used cookie goes.
  @Test func `jar has a limit of cookies`() {
    var capacity = CookieJar.Capacity()
    (capacity.perSite, capacity.total, capacity.fairShare) = (10, 12, 5)
    var jar = CookieJar(capacity: capacity)
    _ = jar.store(["old="], from: request("https://a.example/"), now: start)
    _ = jar.store((0..<10).map { "n\($0)=" }, from: request("https://b.example/"), now: later(1))
    _ = jar.store(["x="], from: request("https://c.example/"), now: later(2))
    _ = jar.store(["y="], from: request("https://d.example/"), now: later(3))
    #expect(jar.count == 12)
    #expect(!jar.cookies.contains { $0.name == "n0" } && jar.cookies.contains { $0.name == "old" })
    for index in 0..<8 { _ = jar.store(["z="], from: request("https://e\(index).example/"), now: later(4)) }
    #expect(jar.count == 12)
    #expect(!jar.cookies.contains { $0.name == "old" })
    #expect(jar.cookies.filter { $0.domain == "b.example" }.map(\.name) == ["n8", "n9"])
  }

  /// The work for a request does not depend on the number of sites.
  @Test func `request reads cookies of its own site only`() throws {
    var jar = CookieJar()
    for index in 0..<1000 {
      _ = jar.store(
        ["a=", "b=; Domain=s\(index).example", "c="], from: request("https://www.s\(index).example/"),
        now: start)
    }
    #expect(jar.count == 3000 && jar.sites.count == 1000)
    #expect(jar.sites.values.allSatisfy { $0.count == 3 })
    #expect(jar.sent("https://www.s500.example/") == "a=; b=; c=")
    #expect(jar.sent("https://x.s500.example/") == "b=")
    _ = jar.remove(try #require(CookieFilter(domain: ".example")))
    #expect(jar.sites.isEmpty)
  }
}

import Testing

@testable import HTTPCookies

@Suite struct CookieHostTests {
  @Test(arguments: [
    ("Example.COM", "example.com"), ("example.com.", "example.com"), ("localhost", "localhost"),
    ("my_service", "my_service"), ("xn--bcher-kva.example", "xn--bcher-kva.example"),
    ("127.0.0.1", "127.0.0.1"),
    ("[::1]", "::1"), ("::1", "::1"), ("0:0:0:0:0:0:0:1", "::1"),
    ("[2001:DB8:0:0:1:0:0:1]", "2001:db8::1:0:0:1"),
    ("[2001:db8:0:1:1:1:1:1]", "2001:db8:0:1:1:1:1:1"), ("[::]", "::"), ("[fe80::]", "fe80::"),
    ("::ffff:1.2.3.4", "::ffff:102:304"),
  ])
  func `hosts have a canonical form`(_ text: String, _ name: String) {
    #expect(CookieHost(text)?.name == name)
  }

  @Test(arguments: [
    "", ".", "..", "a..b", ".a", "a b", "bücher.example", "a/b", "[a]", "[127.0.0.1]", "[::1", "fe80::1%eth0",
    "a:80",
    "*.example",
  ])
  func `invalid hosts are refused`(_ text: String) {
    #expect(CookieHost(text) == nil)
  }

  /// RFC 6265bis §5.1.3, with canonical names on both sides.
  @Test(arguments: [
    ("site.example", "site.example", true), ("www.site.example", "site.example", true),
    ("a.b.site.example", "site.example", true), ("site.example", "www.site.example", false),
    ("notsite.example", "site.example", false), ("www.site.example", ".site.example", false),
    ("127.0.0.1", "127.0.0.1", true), ("127.0.0.1", "0.0.1", false), ("127.0.0.1", "1", false),
    ("::1", "::1", true),
    ("127.1", "1", false), ("a.0x7f", "0x7f", false), ("a.example", "", false),
  ])
  func `host matches its own and higher domains`(_ host: String, _ domain: String, _ expected: Bool) {
    #expect(CookieHost(host)?.domainMatches(domain) == expected, "§5.1.3 \(host) \(domain)")
  }

  @Test(arguments: [
    ("www.example.com", "example.com"), ("example.com", "example.com"),
    ("a.b.example.co.uk", "example.co.uk"),
    ("alice.github.io", "alice.github.io"), ("x.alice.github.io", "alice.github.io"), ("com", nil),
    ("co.uk", nil),
    ("github.io", nil), ("localhost", nil), ("app.localhost", "app.localhost"), ("127.0.0.1", nil),
    ("::1", nil),
    ("www.city.kawasaki.jp", "city.kawasaki.jp"), ("a.b.kawasaki.jp", "a.b.kawasaki.jp"),
  ])
  func `registrable domain has one label more than the suffix`(_ host: String, _ domain: String?) throws {
    #expect(try #require(CookieHost(host)).registrableDomain == domain)
  }

  @Test func `public suffixes are known`() {
    for name in ["com", "github.io", "localhost"] { #expect(PublicSuffixList.contains(name), "\(name)") }
    #expect(!PublicSuffixList.contains("example.com"))
  }

  /// RFC 6265bis §5.1.4.
  @Test(arguments: [
    ("", "/"), ("x", "/"), ("/", "/"), ("/x", "/"), ("/x/", "/x"), ("/x/y", "/x"), ("/x/y/", "/x/y"),
    ("//", "/"),
    ("//x", "/"), ("*", "/"), ("x/y", "/"),
  ])
  func `default path is the directory of the request`(_ path: String, _ expected: String) {
    #expect(CookiePath.defaultPath(of: path) == expected, "§5.1.4 \(path)")
  }

  @Test(arguments: [
    ("/", "/", true), ("/x", "/", true), ("/x", "/x", true), ("/x/y", "/x", true), ("/x/y", "/x/", true),
    ("/xy", "/x", false), ("/x", "/x/", false), ("/", "/x", false), ("/X", "/x", false),
    ("/%78", "/x", false),
  ])
  func `path matches whole segments`(_ request: String, _ cookie: String, _ expected: Bool) {
    #expect(CookiePath.matches(request, cookie) == expected, "§5.1.4 \(request) \(cookie)")
  }
}

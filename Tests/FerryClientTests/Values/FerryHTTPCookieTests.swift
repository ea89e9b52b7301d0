import Foundation
import Testing

@testable import FerryClient

@Suite struct FerryHTTPCookieTests {
  /// RFC 6265 §5.1.3, §5.1.4 and §5.4.
  @Test(arguments: [
    ("a.test", "/", false, "http://a.test", true), ("a.test", "/", false, "http://A.TEST/b?c", true),
    ("a.test", "/", false, "http://b.a.test/", false), (".a.test", "/", false, "http://b.a.test/", true),
    (".a.test", "/", false, "http://a.test/", true), (".a.test", "/", false, "http://ba.test/", false),
    ("a.test", "/b", false, "http://a.test/b", true), ("a.test", "/b", false, "http://a.test/b/c", true),
    ("a.test", "/b", false, "http://a.test/bc", false), ("a.test", "/b/", false, "http://a.test/b", false),
    ("a.test", "/b/", false, "http://a.test/b/c", true), ("a.test", "/", true, "http://a.test/", false),
    ("a.test", "/", true, "https://a.test:8443/", true),
  ])
  func `request carries the cookie of its host, path and scheme`(
    _ domain: String, _ path: String, _ isSecure: Bool, _ url: String, _ isCarried: Bool
  ) throws {
    let cookie = FerryHTTPCookie(name: "a", value: "1", domain: domain, path: path, isSecure: isSecure)
    #expect(cookie.matches(try #require(URL(string: url))) == isCarried)
  }
}

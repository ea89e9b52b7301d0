import Curl
import Testing
import TransferModel

@testable import EngineAPI

@Suite struct CurlURLTests {
  @Test(arguments: [
    ("http://example.com", "http://example.com/", "http://example.com:80"),
    ("HTTP://EXAMPLE.com:80/A?b#c", "http://EXAMPLE.com:80/A?b", "http://example.com:80"),
    ("https://example.com/", "https://example.com/", "https://example.com:443"),
    ("https://example.com:8443/x", "https://example.com:8443/x", "https://example.com:8443"),
    ("http://127.0.0.1:8080/", "http://127.0.0.1:8080/", "http://127.0.0.1:8080"),
    ("http://[2001:db8::1]:81/", "http://[2001:db8::1]:81/", "http://[2001:db8::1]:81"),
    ("http://a/x y", "http://a/x%20y", "http://a:80"), ("http://a/x%20y", "http://a/x%20y", "http://a:80"),
    ("http://a/?q=a b", "http://a/?q=a%20b", "http://a:80"),
    ("http://a/?q=a+b", "http://a/?q=a+b", "http://a:80"),
    ("http://a/b/../c/./d", "http://a/b/../c/./d", "http://a:80"),
    ("http://a/p?", "http://a/p?", "http://a:80"),
    ("http://a?", "http://a/?", "http://a:80"), ("http://a/p?#f", "http://a/p?", "http://a:80"),
    ("http://a/é%c3%a9?é", "http://a/%C3%A9%c3%a9?%C3%A9", "http://a:80"),
    ("http://a/p??", "http://a/p??", "http://a:80"),
    ("http://a?x=1", "http://a/?x=1", "http://a:80"),
    ("http://a:65535/", "http://a:65535/", "http://a:65535"),
  ])
  func `URL is normalised`(_ url: String, _ text: String, _ origin: String) throws {
    let parsed = try CurlURL(url)
    #expect(parsed.text == text)
    #expect(parsed.origin == origin)
    #expect(!parsed.hasUserInfo)
    #expect(OriginURL.fault(url) == nil)
  }

  /// The name that libcurl would connect to, for each spelling.
  @Test(arguments: [
    ("http://bücher.example/ä?ö", "http://xn--bcher-kva.example/%C3%A4?%C3%B6", "xn--bcher-kva.example"),
    ("http://BÜCHER.example:81/", "http://xn--bcher-kva.example:81/", "xn--bcher-kva.example"),
    ("http://b%C3%BCcher.example/", "http://xn--bcher-kva.example/", "xn--bcher-kva.example"),
    ("https://ｌｏｃａｌｈｏｓｔ/", "https://localhost/", "localhost"),
    ("http://☃.net/", "http://xn--n3h.net/", "xn--n3h.net"),
    ("http://ＡＢ.test/", "http://ab.test/", "ab.test"), ("http://１２７.1/", "http://127.0.0.1/", "127.0.0.1"),
    ("http://127。0。0。1/", "http://127.0.0.1/", "127.0.0.1"),
    ("http://faß.de/", "http://xn--fa-hia.de/", "xn--fa-hia.de"),
    ("http://xn--bcher-kva.example/", "http://xn--bcher-kva.example/", "xn--bcher-kva.example"),
    ("http://loc%61lhost/", "http://localhost/", "localhost"),
  ])
  func `host has its ASCII form`(_ url: String, _ text: String, _ host: String) throws {
    let parsed = try CurlURL(url)
    #expect(parsed.text == text && parsed.host == host && parsed.tlsHost == host)
    #expect(parsed.origin.contains("://\(host):") && OriginURL.fault(url) == nil)
    #expect(try CurlURL("http://a/").resolve(url) == parsed)
  }

  @Test func `international host keeps its user`() throws {
    let parsed = try CurlURL("http://b%C3%B6b:s%20e@bücher.example/")
    #expect(parsed.user == "böb" && parsed.password == "s e")
    #expect(parsed.text == "http://xn--bcher-kva.example/")
  }

  @Test(arguments: [
    "", " ", ":", "1a:b", "http:", "http:b", "/path", "example.com", "//example.com/", "http://", "http:///",
    "http://:80/", "http://a:0/",
    "http://a:65536/", "http://a:x/", "http://a b/", "http://[::1/", "http://[g::1]/", "http://a\0b/",
    "http://a/\0",
    "http://a/\n", "http://a\r\nb/", "http://a:80:80/",
    // Control characters in a user or password.
    "http://u%0d%0aX:p@a/", "http://u%00@a/", "http://u%09@a/", "http://u%7f:p@a/", "http://u:p%0a@a/",
    "http://:%00@a/", "http://u%0a:p@ü/",
    // Names that no host can have, or whose ASCII form has delimiters.
    "http://a／b/", "http://a＠b/", "http://a％６１/", "http://a：80/", "http://a？b/", "http://a＃b/",
    "http://ü\u{200e}/",
    "http://\u{fffd}/", "http://％00ü/", "http://a%ff/", "http://\(String(repeating: "ü", count: 64))/",
  ])
  func `malformed URL is refused`(_ url: String) {
    let fault = #expect(throws: CurlURL.Fault.self) { try CurlURL(url) }
    guard case .malformed(let reason) = fault else {
      Issue.record("\(String(describing: fault))")
      return
    }
    #expect(!reason.isEmpty)
    #expect(OriginURL.fault(url)?.reason == .url(.badURL))
  }

  @Test(arguments: [
    ("ftp://a/", "ftp"), ("file:///etc/passwd", "file"), ("gopher://a/", "gopher"), ("FTP://a/", "ftp"),
    ("ws://a/", "ws"), ("foo://a/", "foo"), ("dict://a:1/", "dict"), ("mailto:a@b", "mailto"),
    ("data:text/plain,x", "data"), ("about:blank", "about"), ("svn+ssh:x", "svn+ssh"),
    ("localhost:8080/", "localhost"),
  ])
  func `other scheme is refused`(_ url: String, _ scheme: String) {
    let fault = #expect(throws: CurlURL.Fault.self) { try CurlURL(url) }
    #expect(fault == .unsupportedScheme(scheme))
    #expect(OriginURL.fault(url)?.reason == .url(.unsupportedURL))
  }

  @Test(arguments: ["http://u@a/", "http://u:p@a/", "http://:p@a/", "http://u:@a/"])
  func `credentials are detected`(_ url: String) throws {
    #expect(try CurlURL(url).hasUserInfo)
    let fault = OriginURL.fault(url)
    #expect(fault?.reason == .url(.badURL))
    #expect(fault?.failingURL == nil)
  }

  @Test(arguments: [
    ("http://a/b/c", "d", "http://a/b/d"), ("http://a/b/c", "/d", "http://a/d"),
    ("http://a/b/c", "../d", "http://a/d"),
    ("http://a/b/c?x=1", "?y=2", "http://a/b/c?y=2"), ("http://a/b", "//c/d", "http://c/d"),
    ("https://a/b", "//c/d", "https://c/d"), ("http://a/b", "https://c:1/d", "https://c:1/d"),
    ("http://a:81/b", "c", "http://a:81/c"), ("http://a", "b", "http://a/b"),
    ("http://a/b", "c d", "http://a/c%20d"),
    ("http://a/b", "c#d", "http://a/c"), ("http://a/b?c", "", "http://a/b?c"),
    ("http://a/b?c", "#d", "http://a/b?c"), ("http://a/b", "/c?", "http://a/c?"),
    ("http://a/b?c", "?", "http://a/b?"),
    ("http://a/b", "/é", "http://a/%C3%A9"), ("http://a/b", "/c/../d", "http://a/c/../d"),
    ("http://a/b", "http://c/d/./e", "http://c/d/./e"), ("http://a/b", "//ü/é", "http://xn--tda/%C3%A9"),
    ("http://a/b/../c", ".", "http://a/"), ("http://a/b/c", "./d/../e", "http://a/b/e"),
    ("http://a/b/../c", "?d", "http://a/b/../c?d"),
    ("http://a/b?c", "?d e", "http://a/b?d%20e"), ("http://a:81/b/../c?d", "//e/f/../g", "http://e/f/../g"),
    ("https://[::1]:81/b?c", "/d/./e?f#g", "https://[::1]:81/d/./e?f"), ("http://a", "?b", "http://a/?b"),
  ])
  func `reference is resolved`(_ base: String, _ reference: String, _ expected: String) throws {
    #expect(try CurlURL(base).resolve(reference).text == expected)
  }

  @Test(arguments: ["http://b:99999/", "http://", "ftp://b/", "mailto:x@y", "/a\0b"])
  func `invalid reference is refused`(_ reference: String) throws {
    let base = try CurlURL("http://a/b")
    #expect(throws: CurlURL.Fault.self) { try base.resolve(reference) }
  }
}

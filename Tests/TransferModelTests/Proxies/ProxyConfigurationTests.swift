import JSON
import Testing
import TransferModel

@Suite struct ProxyConfigurationTests {
  private func read(_ text: String) throws -> (proxies: ProxyConfiguration, faults: [String]) {
    let violations = Violations()
    var reader = ObjectReader(try JSONParser.parse(Array(text.utf8)), at: "", violations)
    return (ProxyConfiguration(validating: &reader), violations.all.map(\.pointer))
  }

  @Test(arguments: [
    ("http://proxy.test:3128", "http://proxy.test:3128"), ("proxy.test:3128", "http://proxy.test:3128"),
    ("HTTP://PROXY.test", "http://proxy.test:8080"), ("http://[2001:db8::1]:81/", "http://[2001:db8::1]:81"),
    ("http://u:p@10.0.0.1:1", "http://10.0.0.1:1"),
  ])
  func `URL of a proxy is completed`(_ text: String, _ shown: String) throws {
    let (proxies, faults) = try read(#"{"http":"\#(text)"}"#)
    #expect(faults.isEmpty && proxies.http?.server.url == shown)
  }

  @Test(arguments: [
    ("http", "ftp://a:1"), ("http", ""), ("http", "http://"), ("http", "http://a:0"), ("http", "http://a:x"),
    ("http", "socks5://a:1"), ("https", "https://a:1"), ("socks5", "http://a:1"), ("http", "http://a b:1"),
    ("http", "http://a:1/path"), ("http", "http://[::g]:1"), ("http", "http://u%0d%0aX:p@a:1"),
    ("http", "http://u%00:p@a:1"), ("http", "http://u%7F:p@a:1"), ("http", "http://u:p%0a@a:1"),
    ("socks5", "socks5://u\\tv:p@a:1"),
  ])
  func `invalid proxy is reported by its JSON pointer`(_ name: String, _ text: String) throws {
    #expect(try read(#"{"\#(name)":"\#(text)"}"#).faults == ["/" + name])
  }

  /// An accepted proxy is stored as a URL, and read again. A combining mark next to a delimiter must not hide the delimiter.
  @Test(arguments: [
    "http://proxy\u{600}", "\u{301}proxy:80", "http://\u{301}a:b@proxy:80", "http://a\u{600}:b@proxy",
    "http://\u{301}proxy/",
    "proxy", "http://PROXY:1/", "socks5h://u@[::1]:2", "http://[::1]", "http://u:@proxy",
    "http://%40:%3A@proxy:3",
    "http://\u{130}.test",
  ])
  func `accepted proxy is read again`(_ text: String) {
    for kind in [ProxyServer.Kind.http, .socks5] {
      guard let entry = ProxyConfiguration.Entry(text, kind) else { continue }
      #expect(ProxyConfiguration.Entry(entry.urlWithUser, kind) == entry)
    }
  }

  @Test func `user of a proxy is stored and not shown`() throws {
    let (proxies, _) = try read(#"{"socks5":"socks5h://al%40ice:p%3Ass%2Fw@proxy.test:1080"}"#)
    #expect(proxies.socks5?.credential?.kind == .password(user: "al@ice", password: "p:ss/w"))
    var configuration = SessionConfiguration()
    configuration.proxies = proxies
    let shown = String(decoding: configuration.json, as: UTF8.self)
    #expect(!shown.contains("@ice") && !shown.contains("%40ice"))
    #expect(try read(#"{"socks5":"\#(try #require(proxies.socks5?.urlWithUser))"}"#).0 == proxies)
  }

  @Test(
    arguments: [
      ("http", "a.test", 80, "http://one:8080"), ("https", "a.test", 443, "http://two:8080"),
      ("http", "skipped.test", 80, nil), ("https", "sub.skipped.test", 443, nil),
      ("http", "notskipped.test", 80, "http://one:8080"), ("http", "10.1.2.3", 80, nil),
      ("http", "11.1.2.3", 80, "http://one:8080"), ("http", "port.test", 81, nil),
      ("http", "port.test", 80, "http://one:8080"), ("http", "::1", 80, nil), ("http", "x.dot.test", 80, nil),
    ] as [(String, String, Int, String?)])
  func `exception has no proxy`(_ scheme: String, _ host: String, _ port: Int, _ expected: String?) throws {
    let (proxies, faults) = try read(
      #"{"http":"one","https":"two","noProxy":["skipped.test","10.0.0.0/8","port.test:81","::1","*.dot.test"]}"#
    )
    #expect(faults.isEmpty)
    #expect(proxies.entry(scheme: scheme, host: host, port: port)?.server.url == expected)
  }

  @Test(
    arguments: [
      ("a.test", "a.test", 80, true), ("a.test:80", "a.test", 80, true), ("a.test:80", "b.a.test", 80, true),
      ("a.test:80", "a.test", 81, false), ("a.test:80", "ba.test", 80, false),
      ("A.test:80", "a.test", 80, true),
      ("a.test:080", "a.test", 80, true), ("a.test:+80", "a.test", 80, true),
      ("*.a.test:80", "a.test", 80, true),
      (".a.test:+080", "b.a.test", 80, true), ("[a.test]:80", "a.test", 80, true),
      ("[a.test]:80", "a.test", 8080, false), ("[::1]:80", "::1", 80, true), ("[::1]:80", "::1", 81, false),
      ("10.0.0.1:080", "10.0.0.1", 80, true), ("*:80", "a.test", 80, true), ("*:80", "a.test", 81, false),
    ] as [(String, String, Int, Bool)])
  func `host and port are covered`(_ text: String, _ host: String, _ port: Int, _ expected: Bool) throws {
    let exception = try #require(ProxyException(text))
    #expect(exception.text == text && ProxyExceptions([exception]).cover(host: host, port: port) == expected)
  }

  @Test func `SOCKS proxy serves the other schemes`() throws {
    let (proxies, _) = try read(#"{"https":"two","socks5":"three"}"#)
    #expect(proxies.entry(scheme: "http", host: "a", port: 80)?.server.url == "socks5://three:1080")
    #expect(proxies.entry(scheme: "https", host: "a", port: 443)?.server.url == "http://two:8080")
    #expect(
      try read(#"{"http":"one","noProxy":["*"]}"#).proxies.entry(scheme: "http", host: "a", port: 80) == nil)
  }

  @Test(arguments: ["", " ", "a,b", "a/b", "10.0.0.0/40", "a:0", "a:x"])
  func `invalid exception is reported by its JSON pointer`(_ text: String) throws {
    #expect(try read(#"{"noProxy":["ok","\#(text)"]}"#).faults == ["/noProxy/1"])
  }
}

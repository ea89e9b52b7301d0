import JSON
import Testing
import TransferModel

@testable import HTTPCookies

@Suite struct CookieJSONTests {
  @Test func `cookie is written with all members`() {
    var cookie = Cookie(
      name: "a", value: "b", domain: "site.example", isHostOnly: false, path: "/p", expiresDate: later(60),
      isSecure: true,
      isHTTPOnly: true, sameSite: .unrestricted, created: start, lastAccess: start)
    #expect(
      String(decoding: cookie.json, as: UTF8.self)
        == #"{"name":"a","value":"b","domain":".site.example","path":"/p","expiresDate":"2026-01-01T00:01:00.000Z","#
        + #""isSessionOnly":false,"isSecure":true,"isHTTPOnly":true,"sameSitePolicy":"none","#
        + #""createdDate":"2026-01-01T00:00:00.000Z"}"#)
    (cookie.isHostOnly, cookie.expiresDate, cookie.sameSite) = (true, nil, nil)
    let text = String(decoding: cookie.json, as: UTF8.self)
    for part in [
      #""domain":"site.example""#, #""expiresDate":null,"isSessionOnly":true"#, #""sameSitePolicy":null"#,
    ] {
      #expect(text.contains(part))
    }
  }

  @Test func `cookie is read from minimal and full JSON`() throws {
    let plain = try read(#"{"name": "a", "value": "b", "domain": "Site.Example."}"#)
    #expect(plain.violations == [])
    #expect(
      plain.cookie
        == Cookie(
          name: "a", value: "b", domain: "site.example", isHostOnly: true, created: start, lastAccess: start))
    let full = try read(
      #"{"name": "", "value": "b", "domain": ".site.example", "path": "/p", "expiresDate": "2026-01-02T00:00:00Z","#
        + #""maximumAge": 60, "isSecure": true, "isHTTPOnly": true, "sameSitePolicy": "strict", "isSessionOnly": true,"#
        + #""createdDate": "1999-01-01T00:00:00Z"}"#)
    #expect(full.violations == [])
    #expect(
      full.cookie
        == Cookie(
          name: "", value: "b", domain: "site.example", isHostOnly: false, path: "/p", expiresDate: later(60),
          isSecure: true, isHTTPOnly: true, sameSite: .strict, created: start, lastAccess: start))
  }

  @Test(arguments: [
    (#""url": "https://www.site.example/a/b?c""#, "www.site.example", true, "/a"),
    (#""url": "HTTP://user@SITE.example:8080""#, "site.example", true, "/"),
    (#""url": "http://[::1]/", "path": "/p""#, "::1", true, "/p"),
    (#""url": "https://com/""#, "com", true, "/"),
    (#""url": "https://www.site.example/a/b", "domain": ".site.example""#, "site.example", false, "/a"),
    (#""domain": "127.0.0.1""#, "127.0.0.1", true, "/"), (#""domain": "[0::1]""#, "::1", true, "/"),
    (#""domain": ".127.0.0.1""#, "127.0.0.1", true, "/"), (#""domain": "localhost""#, "localhost", true, "/"),
    (#""domain": "github.io""#, "github.io", true, "/"), (#""domain": "co.uk""#, "co.uk", true, "/"),
    // The path is not decoded, as in a request.
    (#""domain": "a.example", "path": "/a;b""#, "a.example", true, "/a;b"),
  ])
  func `URL sets the place`(_ members: String, _ domain: String, _ isHostOnly: Bool, _ path: String) throws {
    let (cookie, violations) = try read(#"{"name": "a", "value": "b", \#(members)}"#)
    #expect(violations == [])
    #expect(cookie.domain == domain && cookie.isHostOnly == isHostOnly && cookie.path == path, "\(cookie)")
  }

  @Test func `lifetimes are capped`() throws {
    for member in [#""maximumAge": 999999999"#, #""expiresDate": "2099-01-01T00:00:00Z""#] {
      let (cookie, violations) = try read(#"{"name": "a", "value": "b", "domain": "a.example", \#(member)}"#)
      #expect(violations == [] && cookie.expiresDate == later(34_560_000))
    }
    let (over, _) = try read(#"{"name": "a", "value": "b", "domain": "a.example", "maximumAge": 0}"#)
    #expect(over.isExpired(at: start))
  }

  /// Each wrong member is reported once, by its name.
  @Test(
    arguments: [
      (#""name": null"#, ["/name"]), (#""name": 1"#, ["/name"]), (#""value": null"#, ["/value"]),
      (#""value": []"#, ["/value"]),
      (#""name": "", "value": """#, ["/name"]), (#""name": "a=b""#, ["/name"]),
      (#""name": "a;b""#, ["/name"]),
      (#""name": " a""#, ["/name"]), (#""name": "a\u0000""#, ["/name"]), (#""value": "a;b""#, ["/value"]),
      (#""value": "a\r\nb""#, ["/value"]), (#""value": "a\t""#, ["/value"]),
      (#""value": "\u007f""#, ["/value"]),
      (#""value": "\#(String(repeating: "v", count: 4096))""#, ["/value"]),
      (#""domain": null"#, ["/domain"]), (#""domain": true"#, ["/domain"]),
      (#""domain": ".com""#, ["/domain"]), (#""domain": ".co.uk""#, ["/domain"]),
      (#""domain": "127.1""#, ["/domain"]),
      (#""domain": ".github.io""#, ["/domain"]),
      (#""domain": ".localhost""#, ["/domain"]), (#""domain": """#, ["/domain"]),
      (#""domain": "..a.example""#, ["/domain"]),
      (#""domain": "bücher.example""#, ["/domain"]), (#""domain": "a.example:80""#, ["/domain"]),
      (#""domain": null, "url": "ftp://a.example/""#, ["/url"]),
      (#""domain": null, "url": "nothing""#, ["/url"]),
      (#""domain": null, "url": 3"#, ["/url"]), (#""path": """#, ["/path"]), (#""path": "p""#, ["/path"]),
      (#""path": "/\n""#, ["/path"]),
      (#""expiresDate": "soon""#, ["/expiresDate"]),
      (#""maximumAge": -1"#, ["/maximumAge"]), (#""maximumAge": "60""#, ["/maximumAge"]),
      (#""isSecure": 1"#, ["/isSecure"]),
      (#""isHTTPOnly": "yes""#, ["/isHTTPOnly"]), (#""sameSitePolicy": "Lax""#, ["/sameSitePolicy"]),
      (#""sameSitePolicy": "none""#, ["/sameSitePolicy"]), (#""expires": "x""#, ["/expires"]),
      (#""name": "__Secure-a""#, ["/name"]),
      (#""name": "__HOST-a", "isSecure": true, "path": "/p""#, ["/name"]),
      (#""name": "__Host-a", "isSecure": true, "domain": ".a.example""#, ["/name"]),
      (#""name": "", "value": "__Host-a""#, ["/name"]),
      (
        #""name": null, "value": 3, "domain": ".com", "path": "p", "huh": 1"#,
        ["/name", "/value", "/domain", "/path", "/huh"]
      ),
    ] as [(String, [String])])
  func `wrong members are reported by pointer`(_ members: String, _ pointers: [String]) throws {
    let given = [("name", #""a""#), ("value", #""b""#), ("domain", #""a.example""#)]
      .filter { !members.contains("\"\($0.0)\":") }.map { "\"\($0.0)\": \($0.1)" }.joined(separator: ", ")
    let (_, violations) = try read(
      "{" + [members, given].filter { !$0.isEmpty }.joined(separator: ", ") + "}")
    #expect(violations.map(\.pointer) == pointers, "\(members): \(violations)")
  }
}

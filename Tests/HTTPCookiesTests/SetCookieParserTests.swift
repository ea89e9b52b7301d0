import JSON
import TestSupport
import Testing
import TransferModel

@testable import HTTPCookies

/// RFC 6265bis §5.6.
@Suite(.serialized, .blocking) struct SetCookieParserTests {
  private func parse(_ field: String) -> ReceivedCookie? {
    SetCookieParser.parse(field, defaultPath: "/default", now: start)
  }

  @Test(arguments: [
    ("§3.1 a pair", "SID=31d4d96e407aad42", "SID", "31d4d96e407aad42"),
    ("§5.6 step 3: the first = ends the name", "a=b=c", "a", "b=c"),
    ("step 3: no =, no name", "alone", "", "alone"),
    ("step 3: an empty name", "=alone", "", "alone"), ("step 3: a nameless value with =", "=a=b", "", "a=b"),
    ("step 3: an empty value", "a=", "a", ""), ("an empty field", "", "", ""), ("only =", "=", "", ""),
    ("step 4: surrounding blanks are removed", " \t a \t=\t b c \t", "a", "b c"),
    ("step 4: quotes are kept", #"a="b c""#, "a", #""b c""#),
    ("step 2: up to the first ;", "a=b;c=d", "a", "b"), ("step 2: only ;", ";a=b", "", ""),
    ("nothing is decoded", "a=%3B%20+", "a", "%3B%20+"),
    ("commas do not separate cookies", "a=b, c=d", "a", "b, c=d"),
    ("beyond ASCII", "ä=ö", "ä", "ö"), ("a ; with a combining accent", "a=b;\u{301}x", "a", "b"),
    ("a = with a combining accent", "a=\u{301}b", "a", "\u{301}b"), ("a tab inside", "a=b\tc", "a", "b\tc"),
  ])
  func `first equals sign splits`(_ title: String, _ field: String, _ name: String, _ value: String) throws {
    let cookie = try #require(parse(field), "\(title)")
    #expect(
      Array(cookie.name.utf8) == Array(name.utf8) && Array(cookie.value.utf8) == Array(value.utf8), "\(title)"
    )
  }

  @Test func `control characters invalidate the whole field`() {
    for byte in UInt8(0)..<128 {
      let isControl = byte < 0x20 && byte != 9 || byte == 0x7F
      let character = String(Unicode.Scalar(byte))
      #expect((parse("a=b\(character)c") == nil) == isControl, "\(byte)")
      #expect((parse("a=b; Path=/\(character)") == nil) == isControl, "\(byte)")
    }
  }

  @Test func `oversized pairs and attributes are ignored`() {
    let long = String(repeating: "x", count: 4095)
    #expect(parse("a=\(long)") != nil)
    #expect(parse("ab=\(long)") == nil)
    #expect(parse("\(long)=a   ; Secure") != nil, "blanks do not count")
    #expect(parse(String(repeating: "é", count: 2049)) == nil, "octets count")
    let path = "/" + String(repeating: "p", count: 1023)
    #expect(parse("a=b; Path=\(path)")?.path == path)
    #expect(
      parse("a=b; Path=/x; Path=\(path)p")?.path == "/x", "an attribute value that is too long is ignored")
    #expect(parse("a=b; Domain=\(String(repeating: "d", count: 1025)); Secure")?.domain == nil)
  }

  @Test func `attributes are parsed, the last of a name counts`() {
    #expect(parse("a=b; path=/x; PATH = /y ")?.path == "/y")
    #expect(parse("a=b; Path=/x; Path=")?.path == "/default")
    #expect(parse("a=b; Path=relative")?.path == "/default")
    #expect(parse("a=b; Path")?.path == "/default")
    #expect(parse("a=b")?.path == nil)
    #expect(parse("a=b; Domain=.Example.COM")?.domain == "example.com")
    #expect(parse("a=b; Domain=..example.com")?.domain == ".example.com")
    #expect(parse("a=b; Domain=x.example; Domain=")?.domain == "")
    #expect(parse("a=b; Secure=no; httponly = 1")?.isSecure == true)
    #expect(parse("a=b; Secure=no; httponly = 1")?.isHTTPOnly == true)
    #expect(parse("a=b; Securely; Unknown=;;=;")?.isSecure == false)
    #expect(parse("a=b; SameSite=STRICT")?.sameSite == .strict)
    #expect(parse("a=b; SameSite=None")?.sameSite == .unrestricted)
    #expect(parse("a=b; SameSite=Strict; SameSite=Lax")?.sameSite == .lax)
    #expect(parse("a=b; SameSite=Strict; SameSite=huh")?.sameSite == nil)
    #expect(parse("a=b; SameSite=huh; SameSite=Lax")?.sameSite == .lax)
    #expect(parse("a=b; Path=; Path=/x")?.path == "/x")
    #expect(parse("a=b; Domain=; Domain=a")?.domain == "a")
  }

  @Test(arguments: [
    ("Max-Age=60", 60), ("max-age=00060", 60), ("Max-Age=60; Max-Age=61", 61), ("Max-Age=60; Max-Age=x", 60),
    ("Max-Age=34560001", 34_560_000), ("Max-Age=99999999999999999999999999", 34_560_000),
    ("Max-Age=60; Expires=Fri, 02 Jan 2026 00:00:00 GMT", 60),
    ("Expires=Fri, 02 Jan 2026 00:00:00 GMT; Max-Age=60", 60),
    ("Expires=Fri, 02 Jan 2026 00:00:00 GMT", 86_400), ("Expires=Fri, 02-Jan-26 00:00:00 GMT", 86_400),
    ("Expires=Fri, 02 Jan 2026 00:00:00 GMT; Expires=never", 86_400),
    ("Max-Age=; Expires=Fri, 02 Jan 2026 00:00:00 GMT", 86_400),
    ("Expires=Fri, 02 Jan 2099 00:00:00 GMT", 34_560_000),
  ])
  func `lifetime comes from Max Age or else from Expires`(_ attributes: String, _ seconds: Int64) {
    #expect(parse("a=b; " + attributes)?.expiresDate == later(seconds), "\(attributes)")
  }

  @Test(arguments: [
    "Max-Age", "Max-Age=", "Max-Age=-", "Max-Age=+1", "Max-Age=1.5", "Max-Age=1 2", "Expires=0",
  ])
  func `invalid lifetime is ignored`(_ attribute: String) throws {
    #expect(try #require(parse("a=b; " + attribute)).expiresDate == nil)
  }

  @Test(arguments: ["Max-Age=0", "Max-Age=-1", "Max-Age=-0", "Max-Age=-99999999999999999999999"])
  func `lifetime of zero or less expires the cookie`(_ attribute: String) {
    #expect(parse("a=b; " + attribute)?.expiresDate == Cookie.distantPast)
  }

  /// Any field can be parsed, and each stored cookie survives a round trip through JSON.
  @Test func `random fields are parsed and survive a round trip`() throws {
    var random = SplitMix64(seed: 6265)
    let pieces = [
      "a", "=", ";", " ", "\t", "Path", "/", "Domain", "example.com", ".", "Secure", "HttpOnly", "Max-Age",
      "9", "-",
      "Expires", "Fri, 02 Jan 2026 00:00:00 GMT", "SameSite", "None", "Lax", "__Host-", "__Secure-",
      "\u{301}", "é", "\"",
      "\\", ",", "\u{0}", "\u{7F}", "%00",
    ]
    var kept = 0
    for round in 0..<20_000 {
      var field = (0..<Int.random(in: 0...16, using: &random))
        .map { _ in pieces.randomElement(using: &random) ?? "" }.joined()
      if round % 4 == 0 {
        let bytes = (0..<Int.random(in: 0...40, using: &random)).map { _ in
          UInt8.random(in: 0...255, using: &random)
        }
        field = String(decoding: bytes, as: UTF8.self)
      }
      for cookie in CookieJar.of([field], from: "https://www.example.com/x/y").cookies {
        kept += 1
        let (again, violations) = try read(String(decoding: cookie.json, as: UTF8.self))
        #expect(violations.isEmpty && again == cookie && again.key == cookie.key, "\(field.debugDescription)")
      }
    }
    #expect(kept > 4000)
  }
}

import HTTPFields
import JSON
import Testing

@testable import HTTPCache

/// RFC 9111 §3: which responses and fields are stored.
@Suite struct StorabilityTests {
  private static let tag = ("ETag", "\"v1\"")
  private static let fresh = ("Cache-Control", "max-age=60")

  @Test(
    arguments: [
      (200, [fresh], true), (203, [fresh], true), (204, [fresh], true), (299, [fresh], true),
      (301, [fresh], false), (304, [fresh], false), (404, [fresh], false), (500, [fresh], false),
      (200, [], false), (200, [tag], true), (200, [("Last-Modified", "x")], true),
      (200, [("Expires", "0")], true), (200, [("Cache-Control", "public")], false),
      (200, [("Cache-Control", "no-store"), tag], false),
      (200, [("Cache-Control", "max-age=60, No-Store"), tag], false),
      (200, [("Cache-Control", "max-age=60"), ("Cache-Control", "no-store")], false),
      (200, [("Cache-Control", "no-store, must-understand"), tag], true),
      (299, [("Cache-Control", "no-store, must-understand"), tag], false),
      (299, [("Cache-Control", "max-age=60, must-understand")], false), (226, [fresh], false),
      (200, [("Cache-Control", "no-cache"), tag], true), (200, [("Cache-Control", "private"), tag], true),
      (200, [fresh, ("Vary", "*")], false), (200, [fresh, ("Vary", "Accept, *")], false),
      (200, [fresh, ("Vary", "Accept")], true),
    ] as [(Int, [(String, String)], Bool)])
  func `status and fields allow storing`(_ status: Int, _ fields: [(String, String)], _ expected: Bool) {
    let may = Storability.mayStore(Sample.request(), Sample.head(status, fields), size: 10)
    #expect(may == expected)
  }

  @Test(
    arguments: [
      ("GET", [], true), ("HEAD", [], false), ("POST", [], false), ("PUT", [], false),
      ("GET", [("Cache-Control", "no-store")], false), ("GET", [("Cache-Control", "no-cache")], true),
      ("GET", [("Authorization", "Basic x")], true), ("GET", [("If-None-Match", "\"a\"")], true),
      ("GET", [("Pragma", "no-cache")], true),
    ] as [(String, [(String, String)], Bool)])
  func `request method allows storing`(_ method: String, _ fields: [(String, String)], _ expected: Bool) {
    let request = Sample.request(fields, method: method)
    #expect(Storability.mayStore(request, Sample.head(200, [Self.fresh]), size: 10) == expected)
  }

  /// §3.3.
  @Test(
    arguments: [
      (206, [tag, ("Content-Range", "bytes 0-9/20")], 10, true, true),
      (206, [tag, ("Content-Range", "bytes 0-9/20")], 5, false, true),
      (206, [tag, ("Content-Range", "bytes 0-9/20")], 9, true, false),
      (206, [tag, ("Content-Range", "bytes 0-9/20")], 0, false, false),
      (206, [tag, ("Content-Range", "bytes 0-9/20"), ("Content-Encoding", "gzip")], 10, true, false),
      (206, [("ETag", "W/\"v1\""), ("Content-Range", "bytes 0-9/20")], 10, true, false),
      (206, [tag, ("Content-Type", "multipart/byteranges")], 10, true, false),
      (206, [("Last-Modified", Sample.date(-1)), ("Content-Range", "bytes 0-9/20")], 10, true, true),
      (206, [("Last-Modified", Sample.date(0)), ("Content-Range", "bytes 0-9/20")], 10, true, false),
      (200, [tag], 5, false, true), (200, [tag, ("Accept-Ranges", "none")], 5, false, false),
      (200, [fresh], 5, false, false), (200, [tag], 0, false, false), (203, [tag], 5, false, false),
      (200, [tag, ("Content-Encoding", "br")], 5, false, false),
      (200, [tag, ("Content-Encoding", "aws-chunked")], 5, false, true),
    ] as [(Int, [(String, String)], Int64, Bool, Bool)])
  func `partial response is stored if it can be completed`(
    _ status: Int, _ fields: [(String, String)], _ size: Int64, _ isComplete: Bool, _ expected: Bool
  ) {
    let head = Sample.head(status, fields)
    #expect(
      Storability.mayStore(Sample.request(), head, size: size, isComplete: isComplete) == expected)
  }

  @Test func `entry takes at most a twentieth of the capacity`() {
    #expect(Storability.fits(50, memoryCapacity: 100, diskCapacity: 1000))
    #expect(!Storability.fits(51, memoryCapacity: 10_000, diskCapacity: 1000))
    #expect(Storability.fits(5, memoryCapacity: 100, diskCapacity: nil))
    #expect(!Storability.fits(6, memoryCapacity: 100, diskCapacity: nil))
  }

  /// §3.1 and §5.2.2.4.
  @Test func `fields of the connection are not stored`() {
    let came = Sample.headers([
      ("Connection", "close, X-Hop"), ("X-Hop", "1"), ("Keep-Alive", "1"), ("TE", "x"), ("Upgrade", "x"),
      ("Transfer-Encoding", "chunked"), ("Proxy-Authenticate", "x"), ("Proxy-Connection", "x"),
      ("Proxy-Authentication-Info", "x"), ("Proxy-Authorization", "x"), ("set-cookie", "a=b"),
      ("Set-Cookie2", "a=b"), ("Cache-Control", "no-cache=\"X-Once\", private=\"X-Mine\""),
      ("X-Once", "1"), ("X-Mine", "2"), ("Link", "a"), ("Link", "b"), ("ETag", "\"v1\""),
    ])
    let kept = StoredFields.kept(of: came, CacheControl(response: came), responseTime: Sample.at(5))
    #expect(kept.fields.map(\.name) == ["Cache-Control", "X-Mine", "Link", "Link", "ETag", "Date"])
    #expect(kept["Date"] == Sample.date(5))
  }

  /// §2: the key includes scheme and query, but no fragment.
  @Test(arguments: [
    ("http://a/b?c#d", "http://a/b?c"), ("https://a/b?c", "https://a/b?c"), ("http://a/#x#y", "http://a/"),
  ])
  func `key has no fragment`(_ url: String, _ key: String) { #expect(CacheRequest(url: url).url == key) }

  @Test func `metadata survive a round trip, truncated ones are refused`() throws {
    let vary = [("Vary", "Accept, X-None"), ("Link", "a"), ("link", "b\u{e9}"), Self.tag]
    let request = Sample.request([("Accept", "text/html , */*")])
    for response in [
      Sample.stored(vary, to: request), Sample.stored([Self.tag], isComplete: false),
      Sample.stored(
        [Self.tag, ("Content-Range", "bytes 5-104/200")], status: 206),
      Sample.stored([Self.tag, ("Content-Range", "bytes 5-104/*")], status: 206),
    ] {
      let json = response.json
      #expect(CachedResponse(json: json) == response)
      for end in 0..<json.count { #expect(CachedResponse(json: Array(json[..<end])) == nil) }
    }
  }

  @Test(arguments: ["status", "size", "requestTime", "responseTime", "first", "total"])
  func `impossible numbers in metadata are refused`(_ name: String) {
    let part = Sample.stored([Self.tag, ("Content-Range", "bytes 5-104/200")], status: 206)
    let text = String(decoding: part.json, as: UTF8.self)
    for number in [Int64.max, -1, .min] {
      let changed = text.replacing(/"(\w+)":(\d+)/) { match in
        match.1 == name ? "\"\(name)\":\(number)" : String(match.0)
      }
      #expect(changed != text)
      #expect(CachedResponse(json: Array(changed.utf8)) == nil)
    }
  }

  /// §4.1.
  @Test(
    arguments: [
      ([("Accept", "a, b")], [("accept", "a ,b")], true), ([("Accept", "a,b")], [("Accept", "b,a")], false),
      ([("Accept", "a"), ("Accept", "b")], [("Accept", "a, b")], true), ([], [], true),
      ([("Accept", "a")], [], false), ([], [("Accept", "a")], false), ([], [("Accept", "")], false),
      ([("Accept", "a")], [("Accept", "A")], false), ([("X", "1")], [("X", "2")], true),
      ([("Accept-Encoding", "GZIP")], [("Accept-Encoding", "gzip")], true),
      ([("Cookie", "a=b")], [("Cookie", "a=b")], true), ([("Cookie", "a=b")], [("Cookie", "a=c")], false),
    ] as [([(String, String)], [(String, String)], Bool)])
  func `Vary selects by value`(_ first: [(String, String)], _ second: [(String, String)], _ expected: Bool) {
    let names = [("Vary", "Accept, accept-encoding"), ("vary", "Cookie,Accept")]
    let stored = Sample.stored(names, to: Sample.request(first))
    #expect(stored.vary.map(\.name) == ["accept", "accept-encoding", "cookie"])
    #expect(Vary.matches(stored, Sample.headers(second)) == expected)
    #expect(!stored.json.contains(Array("a=b".utf8)))
  }

  @Test func `most recent variant is selected`() {
    let old = Sample.stored([("Date", Sample.date(-50))], at: 10)
    let new = Sample.stored([("Date", Sample.date(-40))], at: 5)
    let other = Sample.stored([("Vary", "Accept")], to: Sample.request([("Accept", "z")]), at: 20)
    #expect(Vary.select([old, new, other], for: HTTPHeaders()) == [new, old])
    let later = Sample.stored([("Date", Sample.date(-40))], at: 6)
    #expect(Vary.select([new, later], for: HTTPHeaders()) == [later, new])
  }
}

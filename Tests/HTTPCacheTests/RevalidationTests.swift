import HTTPFields
import Testing
import TransferModel

@testable import HTTPCache

/// RFC 9111 §4.3 and §4.4, RFC 5861 §4.
@Suite struct RevalidationTests {
  private static let tag = ("ETag", "\"v1\"")
  private static let date = ("Last-Modified", "some day")

  private static func outcome(
    _ stored: CachedResponse, _ status: Int, _ fields: [(String, String)]
  ) -> Revalidation.Outcome {
    Revalidation.outcome(of: Sample.head(status, fields, at: 9), for: stored, request: Sample.request())
  }

  /// §4.3.4.
  @Test(
    arguments: [
      ([tag], [tag], true), ([tag], [("ETag", "\"v2\"")], false), ([tag], [("ETag", "W/\"v1\"")], true),
      ([("ETag", "W/\"v1\"")], [tag], true), ([tag], [], true), ([], [], true),
      ([tag, date], [date], true), ([tag, date], [("Last-Modified", "another")], false),
      ([tag, date], [tag, ("Last-Modified", "another")], true), ([date], [tag], false),
      ([date], [tag, date], true), ([date], [("ETag", "W/\"v1\"")], false),
    ] as [([(String, String)], [(String, String)], Bool)])
  func `validators must match`(_ stored: [(String, String)], _ new: [(String, String)], _ expected: Bool) {
    #expect(Revalidation.selects(Sample.stored(stored), Sample.headers(new)) == expected)
    let isMismatch = Self.outcome(Sample.stored(stored), 304, new) == .mismatched
    #expect(isMismatch != expected)
  }

  /// The original bytes of a tag with non-ASCII characters are lost.
  @Test func `tag that is not ASCII is not sent back`() {
    let stored = Sample.stored([("ETag", "\"\u{E9}\""), Self.date])
    #expect(stored.conditions.map(\.name) == ["If-Modified-Since"])
    #expect(stored.strongValidator == nil)
    #expect(
      Sample.stored([Self.tag, Self.date]).conditions.map(\.name) == ["If-None-Match", "If-Modified-Since"])
  }

  /// The client's own condition may be about another version.
  @Test(
    arguments: [([], false), ([tag], true), ([("ETag", "\"v2\"")], false)] as [([(String, String)], Bool)])
  func `condition of the client needs a named version`(_ fields: [(String, String)], _ isConfirmed: Bool) {
    let request = Sample.request([("If-None-Match", "\"v1\"")])
    let outcome = Revalidation.outcome(
      of: Sample.head(304, fields), for: Sample.stored([Self.tag]), request: request)
    #expect((outcome != .mismatched) == isConfirmed)
  }

  /// §4.3.3.
  @Test(arguments: [(200, 0), (206, 0), (404, 0), (410, 0), (500, 1), (503, 1), (599, 1)])
  func `other statuses fail or replace`(_ status: Int, _ failed: Int) {
    #expect(
      Self.outcome(Sample.stored([Self.tag]), status, []) == (failed == 1 ? .failed : .replaced))
  }

  /// §3.2.
  @Test func `revalidation updates the fields`() throws {
    let stored = Sample.stored([
      Self.tag, ("Cache-Control", "max-age=1"), ("Age", "50"), ("Content-Length", "100"), ("X-Old", "1"),
      ("Content-Encoding", "gzip"), ("Content-Type", "a/b"), ("Link", "a"), ("link", "b"), ("Expires", "0"),
    ])
    let answer = [
      Self.tag, ("Cache-Control", "max-age=60, no-cache=\"X-Once\""), ("Content-Length", "0"),
      ("Content-Encoding", "br"), ("Content-Range", "bytes 0-0/1"), ("Content-Type", "c/d"), ("LINK", "c"),
      ("Connection", "X-Hop"), ("X-Hop", "1"), ("Set-Cookie", "a=b"), ("X-New", "1"), ("X-Once", "1"),
    ]
    guard case .confirmed(let updated) = Self.outcome(stored, 304, answer) else {
      Issue.record("the stored response was not confirmed")
      return
    }
    let expected = [
      Self.tag, ("Content-Length", "100"), ("X-Old", "1"), ("Content-Encoding", "gzip"), ("Expires", "0"),
      ("Cache-Control", "max-age=60, no-cache=\"X-Once\""), ("Content-Type", "c/d"), ("LINK", "c"),
      ("X-New", "1"), ("Date", Sample.date(9)),
    ]
    #expect(updated.headers == Sample.headers(expected))
    #expect(updated.responseTime == Sample.at(9) && updated.requestTime == Sample.at(9))
    #expect(updated.id == stored.id && updated.size == stored.size)
    // The new response's age counts, not the old one's.
    #expect(Freshness.currentAge(of: updated, at: Sample.at(10)) == 1)
  }

  /// The stored body keeps its original tag, because weak equality does not mean the same bytes (RFC 9110 §8.8.1).
  @Test(
    arguments: [
      ([("ETag", "W/\"v1\"")], [tag], "W/\"v1\""), ([tag], [("ETag", "W/\"v1\"")], "\"v1\""),
      ([date], [tag, date], nil),
    ] as [([(String, String)], [(String, String)], String?)])
  func `entity tag is kept`(_ stored: [(String, String)], _ new: [(String, String)], _ expected: String?) {
    guard case .confirmed(let updated) = Self.outcome(Sample.stored(stored), 304, new) else {
      Issue.record("the stored response was not confirmed")
      return
    }
    #expect(updated.headers["ETag"] == expected)
  }

  @Test func `new Vary takes values from the request`() throws {
    let stored = Sample.stored([Self.tag, ("Vary", "Accept")])
    let head = Sample.head(304, [Self.tag, ("Vary", "Accept-Language")])
    let updated = Revalidation.updated(stored, by: head, request: Sample.request([("Accept-Language", "DE")]))
    #expect(updated.vary == [VaryField(name: "accept-language", value: "de")])
  }

  /// §4.3.5.
  @Test(
    arguments: [
      (200, [tag, ("Content-Length", "100")], "freshened"), (200, [], "freshened"),
      (200, [("ETag", "\"v2\"")], "invalidated"), (200, [tag, ("Content-Length", "99")], "invalidated"),
      (200, [tag, ("Last-Modified", "another")], "invalidated"), (404, [], "unaffected"),
      (304, [tag], "unaffected"), (500, [], "unaffected"),
    ] as [(Int, [(String, String)], String)])
  func `HEAD freshens or invalidates`(_ status: Int, _ fields: [(String, String)], _ expected: String) {
    let stored = Sample.stored([Self.tag, Self.date, ("Content-Length", "100")])
    let head = Sample.head(status, fields + [("X-New", "1")], at: 9)
    let name =
      switch Revalidation.outcome(ofHead: head, for: stored, request: Sample.request(method: "HEAD")) {
      case .freshened(let response): response.headers.contains("X-New") ? "freshened" : "unchanged"
      case .invalidated: "invalidated"
      case .unaffected: "unaffected"
      }
    #expect(name == expected)
    #expect(Revalidation.outcome(ofHead: head, for: stored, request: Sample.request()) == .unaffected)
  }

  /// New fields in the response to HEAD must also exist in the stored one (§4.3.5).
  @Test(
    arguments: [
      ([date], [tag], false), ([tag], [date], false), ([tag], [("Content-Length", "100")], true),
      ([tag], [("Content-Length", "99")], false),
      ([tag, ("Content-Encoding", "gzip")], [("Content-Length", "60"), ("Content-Encoding", "gzip")], true),
      ([tag], [("Cache-Control", "no-store")], false),
    ] as [([(String, String)], [(String, String)], Bool)])
  func `HEAD must agree`(_ stored: [(String, String)], _ fields: [(String, String)], _ isFreshened: Bool) {
    let (stored, head) = (Sample.stored(stored), Sample.head(200, fields, at: 9))
    let outcome = { Revalidation.outcome(ofHead: head, for: stored, request: $0) }
    #expect((outcome(Sample.request(method: "HEAD")) == .invalidated) == !isFreshened)
    let silent = Sample.request([("Cache-Control", "no-store")], method: "HEAD")
    #expect(outcome(silent) == .unaffected)
  }

  /// RFC 5861 §4.
  @Test(
    arguments: [
      ("max-age=60, stale-if-error=10", "", 503, 70, true),
      ("max-age=60, stale-if-error=10", "", nil, 70, true),
      ("max-age=60, stale-if-error=10", "", 503, 71, false), ("max-age=60", "", 503, 61, false),
      ("max-age=60", "stale-if-error=10", 500, 70, true), ("max-age=60", "", nil, 61, false),
      ("max-age=60, stale-if-error=10", "", 404, 61, false),
      ("max-age=60, stale-if-error=10", "", 501, 61, false),
      ("max-age=60, stale-if-error=10, must-revalidate", "", 503, 61, false),
      ("max-age=60, stale-if-error=10, no-cache", "", 503, 61, false),
      ("max-age=60, stale-if-error=10", "no-cache", 503, 61, false),
      ("max-age=60, stale-if-error=10", "max-age=1", 502, 30, true),
    ] as [(String, String, Int?, Double, Bool)])
  func staleIfError(_ stored: String, _ asked: String, _ status: Int?, _ seconds: Double, _ expected: Bool) {
    let response = Sample.stored([Self.tag, ("Cache-Control", stored)])
    let fields = asked.isEmpty ? [] : [("Cache-Control", asked)]
    let may = { (policy: CachePolicy) in
      Revalidation.mayServeStaleOnError(
        response, for: Sample.request(fields, policy: policy), status: status, at: Sample.at(seconds))
    }
    #expect(may(.useProtocolCachePolicy) == expected)
    #expect(!may(.reloadRevalidatingCacheData))
  }

  /// §4.4.
  @Test(
    arguments: [
      ("POST", 200, [], ["http://a.example/x?y=1"]), ("GET", 200, [], []), ("HEAD", 200, [], []),
      ("OPTIONS", 200, [], []), ("DELETE", 204, [], ["http://a.example/x?y=1"]),
      ("PUT", 302, [], ["http://a.example/x?y=1"]), ("PUT", 404, [], []), ("PUT", 500, [], []),
      ("FROBNICATE", 200, [], ["http://a.example/x?y=1"]),
      (
        "POST", 201, [("Location", "http://A.example:80/z#f"), ("Content-Location", "http://a.example/w")],
        ["http://a.example/x?y=1", "http://A.example:80/z", "http://a.example/w"]
      ),
      ("POST", 201, [("Location", "http://b.example/z")], ["http://a.example/x?y=1"]),
      ("POST", 201, [("Location", "https://a.example/z")], ["http://a.example/x?y=1"]),
      ("POST", 201, [("Location", "http://a.example:81/z")], ["http://a.example/x?y=1"]),
      ("POST", 201, [("Location", "nonsense")], ["http://a.example/x?y=1"]),
    ] as [(String, Int, [(String, String)], [String])])
  func `unsafe method invalidates URLs of the same origin`(
    _ method: String, _ status: Int, _ fields: [(String, String)], _ expected: [String]
  ) {
    let urls = Invalidation.urls(
      after: method, status: status, url: Sample.url + "#fragment", headers: Sample.headers(fields),
      resolve: { $0 == "nonsense" ? nil : $0 })
    #expect(urls == expected)
  }

  @Test(
    arguments: [
      ("HTTP://User:p@A.b/x", "http://a.b:80"), ("https://a.b?x", "https://a.b:443"),
      ("https://a.b:444/", "https://a.b:444"), ("http://a.b:/", "http://a.b:80"),
      ("http://[::1]/", "http://[::1]:80"), ("http://[::1]:8/", "http://[::1]:8"), ("/x", nil), ("a:b", nil),
    ] as [(String, String?)])
  func originParses(_ url: String, _ expected: String?) { #expect(Invalidation.origin(url) == expected) }
}

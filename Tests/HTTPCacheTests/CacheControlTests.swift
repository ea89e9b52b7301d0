import HTTPFields
import Testing

@testable import HTTPCache

/// RFC 9111 §5.2, §4.2.1 and §5.4.
@Suite struct CacheControlTests {
  private static func control(_ fields: String...) -> CacheControl {
    CacheControl(response: HTTPHeaders(fields.map { .init(name: "Cache-Control", value: $0) }))
  }

  @Test(
    arguments: [
      ("max-age=60", 60), ("Max-Age=60", 60), ("max-age=\"60\"", 60), (" ,, max-age=60 ,", 60),
      ("unknown, x=\"a, max-age=1\", max-age=60", 60), ("max-age=0060", 60), ("max-age=\"6\\0\"", 60),
      ("max-age=2147483648", 2_147_483_648), ("max-age=99999999999999999999", 2_147_483_648),
      ("max-age", 0), ("max-age=", 0), ("max-age=-1", 0), ("max-age=1.5", 0), ("max-age= 60", 0),
      ("max-age =60", 0), ("max-age=sixty", 0), ("max-age='60'", 0), ("max-age=\"60", 0),
      ("max-age=60, max-age=30", 30), ("max-age=30, max-age=60", 30), ("max-age=60, max-age=x", 0),
      ("x=\"a, max-age=60", 0), ("s-maxage=60", nil), ("", nil),
    ] as [(String, Int64?)])
  func maxAgeParses(_ field: String, _ expected: Int64?) { #expect(Self.control(field).maxAge == expected) }

  @Test func `flags are parsed, but not inside other values`() {
    let control = Self.control(
      "NO-STORE, must-revalidate, public, private, immutable, must-understand, only-if-cached")
    #expect(control.noStore && control.mustRevalidate && control.isPublic && control.isPrivate)
    #expect(control.immutable && control.mustUnderstand && control.onlyIfCached && !control.noCache)
    #expect(Self.control("no-store=1").noStore)
    #expect(Self.control("max-age=1", "no-store").noStore)
    #expect(!Self.control("x-no-store, no-stores, y=\"no-store\"").noStore)
    #expect(Self.control("y=\"no-store, no-cache").noCache)
  }

  @Test(
    arguments: [
      ("no-cache", true, []), ("no-cache=\"\"", true, []), ("no-cache=", true, []),
      ("no-cache=\"X-A, x-b\"", false, ["x-a", "x-b"]), ("no-cache=X-A", false, ["x-a"]),
      ("no-cache=\"x-a\", no-cache", true, ["x-a"]), ("no-cache=\"x-a, ETag\"", true, ["x-a", "etag"]),
      ("no-cache=\"x-a", true, []),
    ] as [(String, Bool, [String])])
  func `no cache names fields or covers everything`(_ field: String, _ isForAll: Bool, _ fields: [String]) {
    let control = Self.control(field)
    #expect(control.noCache == isForAll)
    #expect(control.noCacheFields == fields)
  }

  @Test func `stale limits and min fresh are parsed`() {
    let control = Self.control("stale-while-revalidate=5, stale-if-error=7, max-stale=3, min-fresh=4")
    #expect(control.staleWhileRevalidate == 5 && control.staleIfError == 7)
    #expect(control.maxStale == 3 && control.minFresh == 4)
    let odd = Self.control("stale-while-revalidate=x, stale-if-error, max-stale, min-fresh=x")
    #expect(odd.staleWhileRevalidate == 0 && odd.staleIfError == 0)
    #expect(odd.maxStale == 2_147_483_648 && odd.minFresh == .max)
    #expect(Self.control("max-stale, max-stale=3").maxStale == 3)
    #expect(Self.control("min-fresh=3, min-fresh=9").minFresh == 9)
  }

  @Test func pragmaCountsWithoutCacheControl() {
    let pragma = HTTPHeaders.Field(name: "Pragma", value: "x, No-Cache")
    #expect(CacheControl(request: HTTPHeaders([pragma])).noCache)
    let both = HTTPHeaders([pragma, .init(name: "Cache-Control", value: "max-age=1")])
    #expect(!CacheControl(request: both).noCache)
    #expect(!CacheControl(response: HTTPHeaders([pragma])).noCache)
  }
}

import HTTPFields
import Testing
import TransferModel

@testable import HTTPCache

/// RFC 9110 §14 and RFC 9111 §3.3 and §3.4.
@Suite struct RangeTests {
  private static let tag = ("ETag", "\"v1\"")
  private static let fresh = ("Cache-Control", "max-age=60")

  @Test(
    arguments: [
      ("bytes 0-0/1", 0, 0, 1), ("Bytes 5-9/*", 5, 9, nil), ("bytes 5-9/10", 5, 9, 10),
    ] as [(String, Int64, Int64, Int64?)])
  func `content range round trips`(_ field: String, _ first: Int64, _ last: Int64, _ total: Int64?) {
    let range = ByteRange(contentRange: field)
    #expect(range == ByteRange(first: first, last: last, total: total))
    #expect(range?.contentRange == field.lowercased())
  }

  @Test(arguments: [
    nil, "", "bytes", "bytes 5-9", "bytes */10", "bytes -9/10", "bytes 5-/10", "bytes 5-9/9", "bytes 6-5/9",
    "bytes +5-9/10", "items 5-9/10", "bytes 5-9/x", "bytes 1-99999999999999999999/*",
    "bytes 0-9223372036854775807/*", "bytes 0-1/9223372036854775807",
  ])
  func `bad content range is refused`(_ field: String?) { #expect(ByteRange(contentRange: field) == nil) }

  @Test(
    arguments: [
      ("bytes=0-4", 10, .range(first: 0, last: 4)), ("Bytes=5-", 10, .range(first: 5, last: 9)),
      ("bytes=5-99", 10, .range(first: 5, last: 9)), ("bytes=-3", 10, .range(first: 7, last: 9)),
      ("bytes=-30", 10, .range(first: 0, last: 9)), ("bytes=10-", 10, .unsatisfiable),
      ("bytes=10-20", 10, .unsatisfiable), ("bytes=-0", 10, .unsatisfiable), ("bytes=-3", 0, .unknown),
      ("bytes=0-", 0, .unsatisfiable), ("bytes=0-4", nil, .range(first: 0, last: 4)),
      ("bytes=0-", nil, .unknown), ("bytes=-5", nil, .unknown),
    ] as [(String, Int64?, RangeRequest.Resolution)])
  func `range request is resolved`(_ field: String, _ total: Int64?, _ expected: RangeRequest.Resolution) {
    #expect(RangeRequest(field)?.resolve(total: total) == expected)
  }

  @Test(arguments: [
    "bytes=0-1,3-4", "bytes=5-4", "bytes=", "bytes=-", "items=0-4", "bytes 0-4", "bytes=a-b", "",
  ])
  func `malformed range request is refused`(_ field: String) { #expect(RangeRequest(field) == nil) }

  private static func serve(
    _ stored: CachedResponse, _ fields: [(String, String)], method: String = "GET"
  ) -> String? {
    let request = Sample.request(fields, method: method)
    guard let served = ServedResponse(stored, for: request, at: Sample.start) else { return nil }
    let range = served.headers["Content-Range"] ?? "-"
    let length = served.headers["Content-Length"] ?? "-"
    return "\(served.status) \(served.body.lowerBound)..<\(served.body.upperBound) \(range) \(length)"
  }

  @Test(
    arguments: [
      ([], "200 0..<100 - 100"), ([("Range", "bytes=10-19")], "206 10..<20 bytes 10-19/100 10"),
      ([("Range", "bytes=-1")], "206 99..<100 bytes 99-99/100 1"),
      ([("Range", "bytes=0-999")], "206 0..<100 bytes 0-99/100 100"),
      ([("Range", "bytes=100-")], "416 0..<0 bytes */100 0"), ([("Range", "bytes=0-1,5-6")], nil),
      ([("Range", "pages=1-2")], nil),
      ([("Range", "bytes=0-1"), ("If-Range", "\"v1\"")], "206 0..<2 bytes 0-1/100 2"),
      ([("Range", "bytes=0-1"), ("If-Range", "\"v2\"")], nil),
      ([("Range", "bytes=0-1"), ("If-Range", "W/\"v1\"")], nil),
    ] as [([(String, String)], String?)])
  func `whole response serves ranges`(_ fields: [(String, String)], _ expected: String?) {
    #expect(Self.serve(Sample.stored([Self.tag, ("Content-Length", "100")]), fields) == expected)
  }

  @Test func `encoded body has no ranges`() {
    let stored = Sample.stored([Self.tag, ("Content-Encoding", "gzip")])
    #expect(Self.serve(stored, [("Range", "bytes=0-1")]) == nil)
    #expect(Self.serve(stored, []) == "200 0..<100 - -")
    #expect(Self.serve(Sample.stored([Self.tag], status: 203), [("Range", "bytes=0-1")]) == nil)
  }

  /// RFC 9110 §14.2: Range has no meaning for HEAD.
  @Test func `HEAD ignores Range`() {
    let stored = Sample.stored([Self.tag, ("Content-Length", "100")])
    #expect(Self.serve(stored, [("Range", "bytes=0-1")], method: "HEAD") == "200 0..<0 - 100")
  }

  private static func part(_ range: String, size: Int64, others: [(String, String)] = []) -> CachedResponse {
    Sample.stored([tag, fresh, ("Content-Range", range)] + others, status: 206, size: size)
  }

  @Test func `partial response serves only its own range`() {
    let part = Self.part("bytes 50-59/100", size: 10)
    #expect(part.status == 200 && part.headers["Content-Length"] == "100")
    #expect(Self.serve(part, [("Range", "bytes=52-54")]) == "206 2..<5 bytes 52-54/100 3")
    #expect(Self.serve(part, [("Range", "bytes=50-")]) == nil)
    #expect(Self.serve(part, [("Range", "bytes=49-50")]) == nil)
    #expect(Self.serve(part, [("Range", "bytes=200-")]) == nil)
    #expect(Self.serve(part, []) == nil)
    #expect(Self.serve(part, [], method: "HEAD") == nil)
    #expect(Self.serve(Self.part("bytes 90-99/100", size: 10), [("Range", "bytes=-5")]) != nil)
    #expect(Self.part("bytes 0-9/10", size: 10).isComplete)
  }

  @Test(
    arguments: [
      ("bytes 0-9/100", .useProtocolCachePolicy, "loadMissing Range: bytes=10-, If-Range: \"v1\""),
      ("bytes 0-9/*", .useProtocolCachePolicy, "loadMissing Range: bytes=10-, If-Range: \"v1\""),
      ("bytes 90-99/100", .useProtocolCachePolicy, "loadMissing Range: bytes=0-89, If-Range: \"v1\""),
      ("bytes 50-59/100", .useProtocolCachePolicy, "load"),
      ("bytes 0-9/100", .returnCacheDataElseLoad, "loadMissing Range: bytes=10-, If-Range: \"v1\""),
      ("bytes 0-9/100", .returnCacheDataDontLoad, "fail"),
      ("bytes 0-9/100", .reloadRevalidatingCacheData, "loadMissing Range: bytes=10-, If-Range: \"v1\""),
      ("bytes 0-9/100", .reloadIgnoringLocalCacheData, "load"),
    ] as [(String, CachePolicy, String)])
  func `missing part is requested`(_ range: String, _ policy: CachePolicy, _ expected: String) {
    let decision = { (request: CacheRequest) in
      let stored = Self.part(range, size: 10)
      return CacheDecisionTests.name(CacheDecision(for: request, stored: [stored], at: Sample.at(900)))
    }
    #expect(decision(Sample.request(policy: policy)) == expected)
    #expect(decision(Sample.request(method: "HEAD")) == "load")
    #expect(decision(Sample.request([("Range", "bytes=0-50")])) == "load")
    #expect(decision(Sample.request([("Cache-Control", "only-if-cached")])) == "fail")
  }

  @Test func `stale range is revalidated`() {
    let request = Sample.request([("Range", "bytes=2-4")])
    let stored = [Self.part("bytes 0-9/100", size: 10)]
    let decide = { CacheDecisionTests.name(CacheDecision(for: request, stored: stored, at: Sample.at($0))) }
    #expect(decide(1) == "use")
    #expect(decide(61) == "revalidate If-None-Match: \"v1\"")
  }

  private static func join(
    _ stored: CachedResponse, _ range: String, size: Int64, _ fields: [(String, String)] = [tag]
  ) -> PartialContent? {
    PartialContent(
      stored, with: Sample.head(206, fields + [("Content-Range", range)], at: 9), size: size,
      request: Sample.request())
  }

  @Test(
    arguments: [
      ("bytes 0-9/30", "bytes 10-19/30", 10, "0..<10 0..<10", "bytes 0-19/30"),
      ("bytes 0-9/30", "bytes 5-19/30", 15, "0..<10 5..<15", "bytes 0-19/30"),
      ("bytes 0-9/30", "bytes 10-29/30", 20, "0..<10 0..<20", nil),
      ("bytes 0-9/*", "bytes 10-29/30", 20, "0..<10 0..<20", nil),
      ("bytes 0-9/30", "bytes 10-29/30", 5, "0..<10 0..<5", "bytes 0-14/30"),
      ("bytes 20-29/30", "bytes 0-19/30", 20, "+0..<20 0..<10", nil),
      ("bytes 10-19/30", "bytes 0-29/30", 30, "+0..<10 0..<10 20..<30", nil),
    ] as [(String, String, Int64, String, String?)])
  func partsCombine(_ held: String, _ new: String, _ size: Int64, _ pieces: String, _ part: String?) throws {
    let joined = try #require(Self.join(Self.part(held, size: 10), new, size: size))
    let text = joined.pieces.enumerated().map { index, piece in
      (piece.source == .received && index == 0 ? "+" : "") + "\(piece.bytes)"
    }
    #expect(text.joined(separator: " ") == pieces)
    #expect(joined.response.part?.contentRange == part)
    #expect(joined.response.size == joined.pieces.reduce(0) { $0 + Int64($1.bytes.count) })
    #expect(joined.response.headers.all("Content-Length") == ["30"])
    #expect(joined.response.headers["Date"] == Sample.date(9))
    #expect(joined.response.responseTime == Sample.at(9))
  }

  @Test func `truncated whole response is completed`() throws {
    let stored = Sample.stored([Self.tag, ("Content-Length", "30")], size: 10, isComplete: false)
    #expect(stored.part == ByteRange(first: 0, last: 9, total: 30))
    let joined = try #require(Self.join(stored, "bytes 10-29/30", size: 20))
    #expect(joined.response.isComplete && joined.response.size == 30 && joined.response.status == 200)
  }

  @Test func `parts of different versions or with gaps are not joined`() {
    let stored = Self.part("bytes 0-9/30", size: 10)
    #expect(Self.join(stored, "bytes 11-19/30", size: 9) == nil)
    #expect(Self.join(stored, "bytes 10-19/31", size: 10) == nil)
    #expect(Self.join(stored, "bytes 2-5/30", size: 4) == nil)
    #expect(Self.join(stored, "bytes 10-19/30", size: 10, [("ETag", "\"v2\"")]) == nil)
    #expect(Self.join(stored, "bytes 10-19/30", size: 10, [("ETag", "W/\"v1\"")]) == nil)
    #expect(Self.join(stored, "bytes 10-19/30", size: 10, []) == nil)
    #expect(Self.join(stored, "bytes 10-19/30", size: 10, [Self.tag, ("Content-Encoding", "br")]) == nil)
    let whole = Sample.stored([Self.tag])
    #expect(Self.join(whole, "bytes 10-19/30", size: 10) == nil)
  }

  @Test func `parts with the same strong date are joined`() {
    let date = ("Last-Modified", Sample.date(-100))
    let stored = Sample.stored([date, ("Content-Range", "bytes 0-9/30")], status: 206, size: 10)
    #expect(Self.join(stored, "bytes 10-19/30", size: 10, []) != nil)
    #expect(Self.join(stored, "bytes 10-19/30", size: 10, [date]) != nil)
    #expect(Self.join(stored, "bytes 10-19/30", size: 10, [("Last-Modified", Sample.date(-99))]) == nil)
    #expect(Self.join(stored, "bytes 10-19/30", size: 10, [date, Self.tag]) == nil)
  }
}

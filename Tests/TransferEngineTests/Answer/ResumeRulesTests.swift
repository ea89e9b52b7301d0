import Testing
import TransferModel

@testable import TransferEngine

@Suite struct ResumeRulesTests {
  private static func head(_ status: Int, _ fields: [(String, String)]) -> ResponseHead {
    ResponseHead(
      httpVersion: "HTTP/1.1", status: status,
      headers: HTTPHeaders(fields.map { .init(name: $0.0, value: $0.1) }))
  }
  private static let ranges = ("Accept-Ranges", "bytes")
  private static let tag = ("ETag", "\"v1\"")
  private static let date = ("Last-Modified", "Sat, 21 Nov 2026 07:00:00 GMT")

  /// Apple's conditions for resume data.
  @Test(
    arguments: [
      ("GET", 200, [ranges, tag], "\"v1\""), ("GET", 200, [ranges, date], date.1),
      ("GET", 200, [ranges, tag, date], "\"v1\""),
      ("GET", 200, [ranges, ("ETag", "W/\"v1\""), date], date.1),
      ("GET", 206, [tag], "\"v1\""), ("GET", 200, [("accept-ranges", "Bytes"), tag], "\"v1\""),
      ("GET", 200, [ranges, tag, ("Content-Encoding", "identity")], "\"v1\""),
      // Its bytes are not known any more.
      ("GET", 200, [ranges, ("ETag", "\"\u{E9}\""), date], date.1),
      ("GET", 206, [("ETag", "\"\u{E9}\"")], nil),
      ("GET", 200, [ranges, ("ETag", "W/\"v1\"")], nil), ("GET", 200, [ranges], nil),
      ("GET", 200, [tag], nil), ("GET", 200, [("Accept-Ranges", "none"), tag], nil),
      ("GET", 200, [ranges, tag, ("Content-Encoding", "gzip")], nil), ("GET", 404, [ranges, tag], nil),
      ("POST", 200, [ranges, tag], nil), ("HEAD", 200, [ranges, tag], nil),
    ] as [(String, Int, [(String, String)], String?)])
  func validators(_ method: String, _ status: Int, _ fields: [(String, String)], _ expected: String?) {
    let request = TransferRequest(url: "http://a/", method: method)
    #expect(ResumeRules.validator(of: Self.head(status, fields), to: request) == expected)
  }

  @Test func aRequestWithABodyIsNotResumed() {
    let request = TransferRequest(url: "http://a/", body: .data([1]))
    #expect(ResumeRules.validator(of: Self.head(200, [Self.ranges, Self.tag]), to: request) == nil)
  }

  @Test(
    arguments: [
      (206, [("Content-Range", "bytes 5-9/10"), tag], .goesOn(total: 10)),
      (206, [("Content-Range", "bytes 5-9/*")], .goesOn(total: -1)),
      (206, [("Content-Range", "bytes 4-9/10"), tag], .useless), (206, [tag], .useless),
      (206, [("Content-Range", "bytes 5-9/10"), ("ETag", "\"v2\"")], .useless),
      (206, [("Content-Range", "items 5-9/10")], .useless), (200, [tag], .whole), (416, [], .useless),
      (404, [], .other), (503, [], .other), (302, [], .other),
    ] as [(Int, [(String, String)], ResumeRules.Verdict)])
  func verdicts(_ status: Int, _ fields: [(String, String)], _ expected: ResumeRules.Verdict) {
    #expect(ResumeRules.judge(Self.head(status, fields), wanted: 5, validator: "\"v1\"") == expected)
  }

  @Test func anotherDateIsAnotherVersion() {
    let fields = [("Content-Range", "bytes 5-9/10"), ("Last-Modified", "Sun, 22 Nov 2026 07:00:00 GMT")]
    #expect(ResumeRules.judge(Self.head(206, fields), wanted: 5, validator: Self.date.1) == .useless)
    let same = [("Content-Range", "bytes 5-9/10"), Self.date]
    #expect(ResumeRules.judge(Self.head(206, same), wanted: 5, validator: Self.date.1) == .goesOn(total: 10))
  }

  @Test(
    arguments: [
      ("bytes 0-0/1", 0, 1), ("Bytes 5-9/*", 5, -1),
      ("bytes 9223372036854775807-9223372036854775807/*", .max, -1),
    ] as [(String, Int64, Int64)])
  func contentRanges(_ field: String, _ first: Int64, _ total: Int64) throws {
    let range = try #require(ResumeRules.contentRange(field))
    #expect(range.first == first && range.total == total)
  }

  @Test(arguments: [
    nil, "", "bytes", "bytes 5-9", "bytes */10", "bytes -9/10", "bytes 5-/10", "bytes a-9/10", "bytes 5-9/b",
    "bytes 99999999999999999999-9/10",
  ])
  func noContentRange(_ field: String?) { #expect(ResumeRules.contentRange(field) == nil) }
}

import HTTPFields
import Testing
import TransferModel

@testable import TransferEngine

@Suite struct ResumeRulesTests {
  private typealias Fields = [(String, String)]
  private static let now = Timestamp(microseconds: 1_795_244_400_000_000)
  private static let ranges = ("Accept-Ranges", "bytes")
  private static let tag = ("ETag", "\"v1\"")
  private static let date = ("Last-Modified", "Sat, 21 Nov 2026 07:00:00 GMT")
  private static let later = ("Date", "Sat, 21 Nov 2026 07:00:01 GMT")
  private static let same = ("Date", "Sat, 21 Nov 2026 07:00:00 GMT")
  private static let weak = ("ETag", "W/\"v1\"")

  private static func head(_ status: Int, _ fields: Fields) -> ResponseHead {
    ResponseHead(
      httpVersion: "HTTP/1.1", status: status,
      headers: HTTPHeaders(fields.map { .init(name: $0.0, value: $0.1) }))
  }

  @Test(
    arguments: [
      ("GET", 200, [ranges, tag], "\"v1\""), ("GET", 200, [ranges, tag, date, same], "\"v1\""),
      ("GET", 206, [ranges, tag], nil), ("GET", 200, [("accept-ranges", "Bytes"), tag], "\"v1\""),
      ("GET", 200, [ranges, tag, ("Content-Encoding", "identity")], "\"v1\""),
      ("GET", 200, [ranges, tag, ("Content-Encoding", "aws-chunked")], "\"v1\""),
      ("GET", 200, [ranges, tag, ("Content-Encoding", "gzip,aws-chunked")], nil),
      // A repeated field.
      ("GET", 200, [ranges, ranges, tag], "\"v1\""),
      ("GET", 200, [("Accept-Ranges", "x, bytes"), tag], "\"v1\""),
      ("GET", 200, [ranges, tag, tag], "\"v1\""), ("GET", 200, [ranges, tag, ("ETag", "\"v2\"")], nil),
      ("GET", 200, [ranges, date, date, later], date.1),
      ("GET", 200, [ranges, date, ("Last-Modified", "Fri, 20 Nov 2026 07:00:00 GMT"), later], nil),
      ("GET", 200, [ranges, tag, ("ETag", "\"v2\""), date, later], nil),
      // A date is strong if the response is younger.
      ("GET", 200, [ranges, date, later], date.1), ("GET", 200, [ranges, date, same], nil),
      ("GET", 200, [ranges, date], nil), ("GET", 206, [ranges, date, later], nil),
      // A weak tag excludes the date, and so does a tag that is not ASCII.
      ("GET", 200, [ranges, weak, date, later], nil), ("GET", 200, [ranges, weak], nil),
      ("GET", 200, [ranges, ("ETag", "\"\u{E9}\""), date, later], nil),
      ("GET", 200, [ranges], nil), ("GET", 200, [tag], nil),
      ("GET", 200, [("Accept-Ranges", "none"), tag], nil),
      ("GET", 200, [ranges, tag, ("Content-Encoding", "gzip")], nil), ("GET", 404, [ranges, tag], nil),
      ("POST", 200, [ranges, tag], nil), ("HEAD", 200, [ranges, tag], nil),
    ] as [(String, Int, [(String, String)], String?)])
  func validatorIsStrong(_ method: String, _ status: Int, _ fields: [(String, String)], _ expected: String?) {
    let request = TransferRequest(url: "http://a/", method: method)
    #expect(ResumeRules.validator(of: Self.head(status, fields), to: request, now: Self.now) == expected)
  }

  @Test func `request with a body cannot be resumed`() {
    let request = TransferRequest(url: "http://a/", body: .data([1]))
    #expect(
      ResumeRules.validator(of: Self.head(200, [Self.ranges, Self.tag]), to: request, now: Self.now) == nil)
  }
}

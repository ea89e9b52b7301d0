import HTTPFields
import Testing

@Suite struct SingleFieldTests {
  private static func headers(_ name: String, _ values: [String]) -> HTTPHeaders {
    HTTPHeaders(values.map { .init(name: name, value: $0) })
  }

  @Test(arguments: [
    ("Location", ["/to", "/to"], "/to"), ("location", ["/a", "/b"], "/a"),
    ("ETag", ["\"a\"", "\"b\""], "\"a\""),
    ("Retry-After", ["5", "7"], "5"), ("Content-Disposition", ["attachment", "inline"], "attachment"),
    ("Vary", ["Accept", "Cookie"], "Accept, Cookie"), ("X-Other", ["a", "b"], "a, b"),
  ]) func `single field is not joined`(_ name: String, _ values: [String], _ expected: String) {
    let headers = Self.headers(name, values)
    #expect(headers[name] == expected && headers.single(name) == values[0])
    #expect(headers.joined == Self.headers(name, [expected]))
    let many = HTTPHeaders(headers.fields + (0..<20).map { .init(name: "X-\($0)", value: "") })
    #expect(many.joined.fields.first?.value == expected && many.joined.fields.count == 21)
  }

  @Test func `different values are ambiguous`() {
    #expect(Self.headers("ETag", ["\"a\"", "\"a\""]).unambiguous("ETag") == "\"a\"")
    #expect(Self.headers("ETag", ["\"a\"", "\"b\""]).unambiguous("ETag") == nil)
    #expect(HTTPHeaders().unambiguous("ETag") == nil && HTTPHeaders().single("ETag") == nil)
  }

  @Test(
    arguments: [
      (["5"], 5), (["5", "5"], 5), (["5, 5"], 5), (["5", "6"], nil), (["5, 6"], nil), (["x"], nil),
      (["+5"], nil),
      (["-5"], nil), ([""], nil), ([], nil), (["99999999999999999999"], nil), (["05"], 5),
    ] as [([String], Int64?)])
  func `content length is digits without contradiction`(_ values: [String], _ expected: Int64?) {
    #expect(Self.headers("Content-Length", values).contentLength == expected)
  }

  /// RFC 9112 §6.3.
  @Test(
    arguments: [("chunked", nil), ("gzip, chunked", nil), ("identity", 5), ("", 5)] as [(String, Int64?)])
  func `transfer coding overrides the length`(_ coding: String, _ expected: Int64?) {
    var headers = Self.headers("Content-Length", ["5"])
    if !coding.isEmpty { headers.append("Transfer-Encoding", coding) }
    #expect(headers.contentLength == expected)
  }

  @Test(
    arguments: [
      (["GZIP, br"], ["gzip", "br"]), (["deflate", "gzip"], ["deflate", "gzip"]),
      (["gzip,aws-chunked"], ["gzip"]),
      (["aws-chunked, gzip"], ["gzip"]), (["AWS-Chunked"], []), (["identity"], []),
      (["none , identity, "], []),
      ([""], []), ([], []), (["rot13"], ["rot13"]),
    ] as [([String], [String])])
  func `content codings are listed in order`(_ values: [String], _ expected: [String]) {
    #expect(Self.headers("content-encoding", values).contentCodings == expected)
  }

  /// Fetch, "extract a MIME type".
  @Test(
    arguments: [
      (["text/html"], "text/html"), (["text/plain", "text/html"], "text/html"),
      (["text/html;charset=x", "text/html"], "text/html;charset=x"),
      (["text/html;charset=x", "text/html;charset=y"], "text/html;charset=y"),
      (["text/html;charset=x", "text/plain"], "text/plain"), (["text/html", "nonsense"], "text/html"),
      (["text/html", "*/*"], "text/html"),
      (["text/html;charset=x", "*/*", "text/html;a=b"], "text/html;a=b;charset=x"),
      (["text/plain, text/html; charset=utf-8"], "text/html; charset=utf-8"),
      (["text/html; a=\"b, c\""], "text/html; a=\"b, c\""), (["nonsense, rubbish"], "nonsense, rubbish"),
      (["nonsense", "rubbish"], "nonsense"), (["text/html", ""], "text/html"), ([], nil),
    ] as [([String], String?)])
  func `content type is the last valid one`(_ values: [String], _ expected: String?) {
    let headers = Self.headers("Content-Type", values)
    #expect(headers.contentType == expected)
    let shown = values.count == 1 ? values : expected.map { [$0] } ?? []
    #expect(headers.joined == Self.headers("Content-Type", shown))
  }

  @Test(arguments: [
    ("Content-Type", true), ("content-md5", true), ("Digest", true), ("repr-digest", true),
    ("Last-Modified", true),
    ("Content", false), ("Content-", false), ("X-Content-Type", false), ("ETag", false), ("Accept", false),
  ]) func `content fields are known`(_ name: String, _ expected: Bool) {
    #expect(FieldName.describesContent(name) == expected)
  }
}

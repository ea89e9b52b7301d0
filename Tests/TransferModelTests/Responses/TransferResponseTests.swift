import HTTPFields
import JSON
import Testing

@testable import TransferModel

@Suite struct TransferResponseTests {
  private func response(
    _ name: String, _ value: String?, at url: String = "https://example.com/"
  ) -> TransferResponse {
    var headers = HTTPHeaders()
    if let value { headers.append(name, value) }
    return TransferResponse(
      url: url, status: 200, headers: headers, expectedContentLength: -1, httpVersion: "HTTP/1.1")
  }

  @Test(
    arguments: [
      (nil, nil, nil), ("text/html", "text/html", nil), ("Text/HTML; charset=UTF-8", "text/html", "utf-8"),
      ("text/html ;charset=\"ISO-8859-1\"", "text/html", "iso-8859-1"),
      ("text/html;  CharSet = utf-16 ", "text/html", "utf-16"), ("text/html; charset=", "text/html", nil),
      ("text/html; charset=\"\"", "text/html", nil),
      ("text/html; a=\"x;charset=fake\"; charset=real", "text/html", "real"),
      ("text/html; a=\"\\\";charset=fake\"; charset=real", "text/html", "real"),
      ("text/html; xcharset=fake", "text/html", nil), ("text/html; charset", "text/html", nil),
      ("text/html; charset=\"u\\tf-8\"", "text/html", "utf-8"), ("", nil, nil), ("  ", nil, nil),
    ] as [(String?, String?, String?)])
  func `media type and charset are read`(_ field: String?, _ type: String?, _ charset: String?) {
    let response = response("Content-Type", field)
    #expect(response.contentType.mimeType == type)
    #expect(response.contentType.textEncodingName == charset)
  }

  @Test(
    arguments: [
      (["text/plain", "text/html"], "text/html"), (["text/html;charset=x", "text/plain"], "text/plain"),
      (["text/html;charset=x", "*/*", "text/html;a=b"], "text/html"), (["nonsense", "rubbish"], "nonsense"),
      (["text/plain, text/html; charset=utf-8"], "text/html"), (["text/html", ""], "text/html"),
    ] as [([String], String)])
  func `last valid media type of several fields counts`(_ values: [String], _ type: String) {
    var headers = HTTPHeaders()
    for value in values { headers.append("Content-Type", value) }
    let response = TransferResponse(
      url: "http://a/", status: 200, headers: headers, expectedContentLength: -1, httpVersion: "HTTP/1.1")
    #expect(response.contentType.mimeType == type)
  }

  @Test(arguments: [";charset=utf-8", " ; charset=utf-8", ";"])
  func `field without a media type has none`(_ field: String) {
    #expect(response("Content-Type", field).contentType.mimeType == nil)
  }

  @Test(arguments: [
    ("attachment; filename=a.txt", "a.txt"), ("attachment; filename=\"a b.txt\"", "a b.txt"),
    ("attachment; FileName=\"a;b.txt\"", "a;b.txt"), ("attachment; filename=\"a\\\"b.txt\"", "a\"b.txt"),
    ("inline;filename = x.bin ;size=3", "x.bin"),
    ("attachment; filename*=UTF-8''%e2%82%ac%20rates", "€ rates"),
    ("attachment; filename=\"plain\"; filename*=utf-8'en'fancy%2Etxt", "fancy.txt"),
    ("attachment; filename*=iso-8859-1''%A3; filename=plain", "£"),
    ("attachment; filename*=ISO-8859-1'en'caf%e9; filename=plain", "café"),
    ("attachment; filename*=utf-16''a; filename=plain", "plain"),
    ("attachment; filename*=broken; filename=plain", "plain"),
    ("attachment; filename=\"../../etc/passwd\"", "passwd"),
    ("attachment; filename=\"C:\\\\dir\\\\x.exe\"", "x.exe"),
    ("attachment; filename*=UTF-8''..%2F..%2Fetc%2Fpasswd", "passwd"),
    ("attachment; filename=/etc/shadow", "shadow"),
    ("attachment; filename=\"a/\"", "a"), ("attachment; filename=\"..\"", "fallback.bin"),
    ("attachment; filename=\".\"", "fallback.bin"), ("attachment; filename=\"\"", "fallback.bin"),
    ("attachment; filename=\"///\"", "fallback.bin"), ("attachment; filename*=UTF-8''%2E%2E", "fallback.bin"),
    ("attachment; filename*=UTF-8''a%00b%0D%0Ac%7F", "abc"),
    ("attachment; filename*=UTF-8''.%00.", "fallback.bin"),
    ("attachment", "fallback.bin"), ("attachment; name=x", "fallback.bin"),
    ("attachment; filename=.profile", ".profile"),
    // An unusable filename* is ignored, and filename counts.
    ("attachment; filename*=UTF-8''%zz.txt; filename=plain.txt", "plain.txt"),
    ("attachment; filename*=UTF-8''a%; filename=plain.txt", "plain.txt"),
    ("attachment; filename*=iso-8859-1''a%4; filename=plain.txt", "plain.txt"),
    ("attachment; filename*=UTF-8''%FF%FE.txt; filename=plain.txt", "plain.txt"),
    ("attachment; filename=\"plain\"; filename*=UTF-8''caf%E9", "plain"),
    ("attachment; filename*=UTF-8''%C3; filename=plain", "plain"),
    ("attachment; filename*=UTF-8''%ED%A0%80; filename=plain", "plain"),
    ("attachment; filename*=UTF-8''; filename=plain", "plain"),
    ("attachment; filename*=UTF-8''%2E%2E; filename=plain", "plain"),
    ("attachment; filename*=UTF-8''%FF", "fallback.bin"),
    // A quotation mark that is not closed, or not opened.
    ("attachment; filename=\"report.pdf", "report.pdf"), ("attachment; filename=\"a b; c=d", "a b; c=d"),
    ("attachment; filename=\"", "fallback.bin"), ("attachment; filename=report.pdf\"", "report.pdf"),
    ("attachment; filename=\"a\\\"b.txt", "a\"b.txt"), ("attachment; filename=\"a.txt\\", "a.txt"),
    ("attachment; filename=\"a.txt\"b", "a.txt"),
    // A combining mark after a quotation mark, an equals sign or a delimiter.
    ("attachment; filename=\"\u{301}evil.txt\"", "\u{301}evil.txt"),
    ("attachment; filename=\"\u{301}\"", "\u{301}"), ("attachment; filename=\u{301}a.txt", "\u{301}a.txt"),
    ("attachment; filename=\"a\\\u{301}b\"", "a\u{301}b"),
    ("attachment; filename*=UTF-8''\u{301}a.txt", "\u{301}a.txt"),
  ])
  func `file name comes from Content Disposition`(_ field: String, _ expected: String) {
    let name = response(
      "Content-Disposition", field, at: "https://example.com/dir/fallback.bin?x=1"
    ).suggestedFilename
    #expect(name == expected)
  }

  @Test(arguments: [
    "attachment; filename*=UTF-8''..%2F%CC%81evil", "attachment; filename*=UTF-8''dir%2F%CC%B8evil",
    "attachment; filename*=UTF-8''dir%5C%CC%81evil",
  ])
  func `file name contains no separator`(_ field: String) {
    let name = response("Content-Disposition", field).suggestedFilename
    #expect(!name.utf8.contains(UInt8(ascii: "/")))
    #expect(!name.utf8.contains(UInt8(ascii: "\\")))
  }

  @Test(arguments: [
    ("https://example.com/a/b.txt", "b.txt"), ("https://example.com/a/b.txt?q=/x#/y", "b.txt"),
    ("https://example.com/a/b/", "b"), ("https://example.com/a%20b%C3%A9.txt", "a bé.txt"),
    ("https://example.com/%2e%2e", "example.com"), ("https://example.com/a%2F..%2Fb", "b"),
    ("https://example.com/x%2F", "x"), ("https://example.com/100%25.txt", "100%.txt"),
    ("https://example.com/%FF.bin", "%FF.bin"), ("https://example.com/%zz", "%zz"),
    ("https://example.com/", "example.com"), ("https://example.com", "example.com"),
    ("https://example.com:8443/", "example.com"), ("https://example.com?x=/y", "example.com"),
    ("http://127.0.0.1:80", "127.0.0.1"), ("http://[2001:db8::1]:8080/", "[2001:db8::1]"),
  ])
  func `file name comes from the URL`(_ url: String, _ expected: String) {
    #expect(response("Content-Disposition", nil, at: url).suggestedFilename == expected)
  }

  @Test(
    arguments: [
      ("report", "application/pdf", "report.pdf"), ("report", "Application/PDF; a=b", "report.pdf"),
      ("report.txt", "application/pdf", "report.txt"), ("a.b", "text/plain", "a.b"),
      ("archive.tar", "application/gzip", "archive.tar"), ("report", nil, "report"),
      ("report", "application/octet-stream", "report"), ("report", "x/unknown", "report"),
      ("report", "", "report"), (".profile", "text/plain", ".profile"),
      ("report.", "application/pdf", "report.pdf"), ("Mr. Smith", "application/pdf", "Mr. Smith.pdf"),
      ("photo", "image/jpeg", "photo.jpg"), ("data", "application/json", "data.json"),
      ("\u{301}", "text/plain", "\u{301}.txt"), ("a.\u{301}", "text/plain", "a.\u{301}"),
    ] as [(String, String?, String)])
  func `extension of the media type is appended`(_ name: String, _ type: String?, _ expected: String) {
    var named = response("Content-Disposition", "attachment; filename=\"\(name)\"")
    var plain = response("X", nil, at: "https://example.com/a/" + PercentEncoding.encode(name))
    if let type {
      named.headers.append("Content-Type", type)
      plain.headers.append("Content-Type", type)
    }
    #expect(named.suggestedFilename == expected)
    #expect(plain.suggestedFilename == expected)
  }

  @Test(arguments: [("http://localhost/", "localhost.html"), ("http://example.com/", "example.com")])
  func `extension is appended to a host without a dot`(_ url: String, _ expected: String) {
    #expect(response("Content-Type", "text/html", at: url).suggestedFilename == expected)
  }

  @Test func `JSON of a response is read again`() throws {
    var before = response("Content-Type", "text/plain;charset=UTF-8", at: "https://example.com/a")
    before.headers.append("X-A", "1")
    before.expectedContentLength = 12
    before.fromCache = true
    let json = try JSONParser.parse(before.json)
    #expect(TransferResponse(json: json) == before)
    #expect(json["mimeType"] == .string("text/plain"))
    #expect(json["textEncodingName"] == .string("utf-8"))
    #expect(json["suggestedFilename"] == .string("a.txt"))
    #expect(TransferResponse(json: nil) == nil)
    #expect(TransferResponse(json: .null) == nil)
    #expect(TransferResponse(json: .object([])) == nil)
  }
}

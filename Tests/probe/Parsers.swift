import HTTPCache
import HTTPCookies
import HTTPDates
import HTTPFields
import JSON
import Limits
import TransferAPI
import TransferEngine
import TransferModel

/// The parsers of text from clients and servers, by name. `make parsers` counts their instructions. `make
/// fuzz-parsers` searches for input that crashes or delays them.
enum Parsers {
  static let all: [(name: String, parse: @Sendable ([UInt8]) -> Void)] = [
    ("set-cookie", { _ = SetCookieParser.parse(text($0.span), defaultPath: "/", now: now) }),
    ("cookie-jar", cookieJar), ("cache", cache), ("head", head), ("header-fields", headerFields),
    ("content-disposition", contentDisposition), ("content-type", contentType),
    ("challenges", { _ = HTTPChallenge.parse([text($0.span)]) }),
    ("proxy-exceptions", proxyExceptions), ("json", { _ = try? JSONParser.parse($0) }),
    ("batch", batch), ("pem", { _ = PEMText.sizes(text($0.span)) }), ("base64", base64),
    ("multipart", multipart), ("dates", dates),
  ]

  private static let now = Timestamp(seconds: 1_767_225_600)

  /// Decodes text as in header fields: text that is not UTF-8 is ISO 8859-1.
  private static func text(_ bytes: Span<UInt8>) -> String {
    if let span = try? UTF8Span(validating: bytes) { return String(copying: span) }
    return ISO88591.text(bytes)
  }

  /// Splits into lines, up to the limit of header fields.
  private static func lines(_ bytes: [UInt8]) -> [Range<Int>] {
    var (lines, start) = ([Range<Int>](), 0)
    while lines.count < Limits.fields.value, start <= bytes.count {
      let end = bytes.span.firstIndex(of: UInt8(ascii: "\n"), in: start..<bytes.count)
      lines.append(start..<end)
      start = end + 1
    }
    return lines
  }

  private static func texts(_ bytes: [UInt8]) -> [String] {
    lines(bytes).map { text(bytes.span.extracting($0)) }
  }

  /// Parses header fields, one a line. A line without a name becomes a `Cache-Control` field.
  private static func fields(_ bytes: [UInt8]) -> HTTPHeaders {
    HTTPHeaders(
      lines(bytes).map { line in
        let bytes = bytes.span
        let colon = bytes.firstIndex(of: UInt8(ascii: ":"), in: line)
        guard colon < line.upperBound else {
          return .init(name: "Cache-Control", value: text(bytes.extracting(line)))
        }
        let value = bytes.trimmingBlanks((colon + 1)..<line.upperBound)
        return .init(
          name: text(bytes.extracting(line.lowerBound..<colon)), value: text(bytes.extracting(value)))
      })
  }

  private static func response(_ headers: HTTPHeaders) -> TransferResponse {
    TransferResponse(
      url: "http://a.example/", status: 200, headers: headers, expectedContentLength: -1,
      httpVersion: "HTTP/1.1")
  }

  /// Parses the `Set-Cookie` fields of a response, one a line.
  private static func cookieJar(_ bytes: [UInt8]) {
    let context = CookieContext(host: "www.example.com", path: "/a/b", isSecure: true)
    var jar = CookieJar()
    _ = jar.store(texts(bytes), from: context, now: now)
    _ = jar.header(for: context, now: now)
  }

  /// Parses the header fields of a request and its response.
  private static func cache(_ bytes: [UInt8]) {
    let headers = fields(bytes)
    let request = CacheRequest(url: "http://a.example/", headers: headers)
    let head = CacheResponseHead(status: 200, headers: headers, requestTime: now, responseTime: now)
    guard Storability.mayStore(request, head, size: 10) else { return }
    let stored = CachedResponse(answering: request, head, size: 10, sha256: "")
    _ = Freshness(of: stored, at: now.adding(seconds: 5))
    _ = Vary.matches(stored, headers)
    _ = ServedResponse(stored, for: request, at: now)
  }

  private static func head(_ bytes: [UInt8]) {
    var parser = ResponseHeadParser()
    bytes.withUnsafeBytes { all in
      _ = ResponseHeadParser.lines(in: all) { line in
        _ = parser.add(line)
        return true
      }
    }
  }

  /// Writes header fields as JSON, as clients and delegates receive them.
  private static func headerFields(_ bytes: [UInt8]) {
    let headers = fields(bytes)
    _ = headers.json
    _ = headers.merging(defaults: headers)
    _ = headers.redacted()
  }

  private static func contentDisposition(_ bytes: [UInt8]) {
    _ = response(HTTPHeaders([.init(name: "Content-Disposition", value: text(bytes.span))])).suggestedFilename
  }

  /// Parses `Content-Type` fields, one a line.
  private static func contentType(_ bytes: [UInt8]) {
    _ = response(HTTPHeaders(texts(bytes).map { .init(name: "Content-Type", value: $0) })).contentType
  }

  /// Parses the entries of `noProxy` in JSON, and searches them for a host.
  private static func proxyExceptions(_ bytes: [UInt8]) {
    let entries = (try? JSONParser.parse(bytes))?.strings?.prefix(Limits.proxyExceptions.value) ?? []
    var exceptions: [ProxyException] = []
    exceptions.reserveCapacity(entries.count)
    for entry in entries { if let exception = ProxyException(entry) { exceptions.append(exception) } }
    let host = entries.last.flatMap { $0.utf8.count <= Limits.hostBytes.value ? $0 : nil }
    _ = ProxyExceptions(exceptions).cover(host: host ?? "a.test", port: 80)
  }

  /// Parses tasks in NDJSON.
  private static func batch(_ bytes: [UInt8]) {
    var splitter = LineSplitter(maximumLine: Limits.batchLineBytes.value)
    var (parser, count) = (JSONParser(), 0)
    splitter.add(bytes)
    while count < Limits.batchLines.value, let line = try? splitter.next() ?? splitter.finish() {
      _ = try? parser.parse(line.buffer, in: line.range)
      count += 1
    }
  }

  private static func base64(_ bytes: [UInt8]) {
    let text = text(bytes.span)
    _ = Base64.decode(text)
    _ = Base64.decodeForURL(text)
    _ = Base64.encode(bytes)
  }

  private static func multipart(_ bytes: [UInt8]) {
    var parser = MultipartParser(contentType: "multipart/x-mixed-replace; boundary=b")
    bytes.withUnsafeBytes { parser?.add($0) { _ in } }
    parser?.finish { _ in }
  }

  private static func dates(_ bytes: [UInt8]) {
    let text = text(bytes.span)
    _ = HTTPDate.parse(text, now: now)
    _ = CookieDate.parse(text)
    _ = RetryAfter.seconds(text, now: now)
  }
}

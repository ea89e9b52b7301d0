internal import HTTPDates
package import HTTPFields
package import TransferModel

/// The metadata of a stored response to a GET. A 206 is stored as a part of its 200 (RFC 9111 §3.3).
package struct CachedResponse: Sendable, Equatable {
  /// The unique id of this body.
  package let id: String
  package let url: String
  package let status: Int
  package var httpVersion: String
  package var headers: HTTPHeaders {
    didSet { read = ParsedHead(headers, requestTime, responseTime, status: status) }
  }
  package var vary: [VaryField]
  package var requestTime: Timestamp {
    didSet { read = ParsedHead(headers, requestTime, responseTime, status: status) }
  }
  package var responseTime: Timestamp {
    didSet { read = ParsedHead(headers, requestTime, responseTime, status: status) }
  }
  /// The number of stored bytes of the body. `sha256` is their digest.
  package var size: Int64
  package var sha256: String
  /// The stored range of the body; `nil` if the whole body is stored.
  package var part: ByteRange?
  private var read: ParsedHead

  /// Values computed from the head. They are computed once, because each lookup needs them.
  private final class ParsedHead: Sendable, Equatable {
    let control: CacheControl
    let date: Timestamp
    let lifetime: Double
    let initialAge: Double
    let variesOnAll: Bool
    let agelessHeaders: HTTPHeaders

    /// Computes the values.
    /// - Parameter control: the parsed Cache-Control of the fields, if available.
    init(
      _ headers: HTTPHeaders, _ requestTime: Timestamp, _ responseTime: Timestamp, status: Int,
      control known: CacheControl? = nil
    ) {
      control = known ?? CacheControl(response: headers)
      date = headers.all("Date").first.flatMap { HTTPDate.parse($0, now: responseTime) } ?? responseTime
      lifetime = Freshness.lifetime(
        of: headers, control, status: status, date: date, responseTime: responseTime)
      initialAge = Freshness.initialAge(
        of: headers, date: date, requestTime: requestTime, responseTime: responseTime)
      variesOnAll = Vary.names(headers) == nil
      var headers = headers
      headers.remove("Age")
      agelessHeaders = headers
    }

    /// All values follow from the rest of the response, so they never differ on their own.
    static func == (_: ParsedHead, _: ParsedHead) -> Bool { true }
  }

  package init(
    id: String, url: String, status: Int, httpVersion: String, headers: HTTPHeaders, vary: [VaryField],
    requestTime: Timestamp, responseTime: Timestamp, size: Int64, sha256: String, part: ByteRange?,
    control: CacheControl? = nil
  ) {
    self.id = id
    self.url = url
    self.status = status
    self.httpVersion = httpVersion
    self.headers = headers
    self.vary = vary
    self.requestTime = requestTime
    self.responseTime = responseTime
    self.size = size
    self.sha256 = sha256
    self.part = part
    read = ParsedHead(headers, requestTime, responseTime, status: status, control: control)
  }

  package var control: CacheControl { read.control }
  /// The time when the origin made the response: its Date, or else the time of receipt.
  package var date: Timestamp { read.date }
  /// The seconds for which the response is fresh (RFC 9111 §4.2.1).
  var lifetime: Double { read.lifetime }
  /// The response's age on receipt, in seconds (§4.2.3: corrected_initial_age).
  var initialAge: Double { read.initialAge }
  /// The header fields without Age, which is computed for each use.
  var agelessHeaders: HTTPHeaders { read.agelessHeaders }
  /// Whether the response matches no request, because of `Vary: *` (§4.1).
  var variesOnAll: Bool { read.variesOnAll }

  /// Makes the metadata of a received response that `Storability` allows to be stored.
  /// - Parameters:
  ///   - size: the number of received bytes of the body.
  ///   - isComplete: `false` if the connection ended before the body did.
  package init(
    answering request: CacheRequest, _ head: CacheResponseHead, size: Int64, sha256: String,
    isComplete: Bool = true
  ) {
    let part = Self.part(of: head, size: size, isComplete: isComplete)
    var headers = StoredFields.kept(of: head.headers, head.control, responseTime: head.responseTime)
    if head.status == 206 {
      headers.remove("Content-Range")
      headers.remove("Content-Length")
      if let total = part?.total ?? (part == nil ? size : nil) {
        headers.append("Content-Length", String(total))
      }
    }
    self.init(
      id: Self.newID(), url: request.url, status: head.status == 206 ? 200 : head.status,
      httpVersion: head.httpVersion, headers: headers,
      vary: Vary.fields(of: head.headers, request: request.headers), requestTime: head.requestTime,
      responseTime: head.responseTime, size: size, sha256: sha256, part: part,
      control: headers.contains("Cache-Control") ? head.control : nil)
  }

  static func newID() -> String {
    Hexadecimal.text((0..<16).map { _ in UInt8.random(in: .min ... .max) })
  }

  static func isID(_ text: String) -> Bool {
    Hexadecimal.bytes(text)?.count == 16
      && !text.utf8.contains { UInt8(ascii: "A")...UInt8(ascii: "F") ~= $0 }
  }

  /// Returns the received range; `nil` if the whole body was received.
  static func part(of head: CacheResponseHead, size: Int64, isComplete: Bool) -> ByteRange? {
    if head.status == 206, var range = ByteRange(contentRange: head.headers.unambiguous("Content-Range")) {
      range.last = range.first + size - 1
      return range.isWhole ? nil : range
    }
    guard !isComplete else { return nil }
    let total = head.headers.contentLength
    return ByteRange(first: 0, last: size - 1, total: total)
  }

  /// Limits the response to requests with the same value of a field, if the original request had the field.
  /// - Parameter name: the field's name in lower case.
  package mutating func addVariant(on name: String, of request: CacheRequest) {
    guard !vary.contains(where: { $0.name == name }),
      let field = Vary.field(name, request: request.headers)
    else { return }
    vary.append(field)
  }

  package var method: String { "GET" }
  package var isComplete: Bool { part == nil }

  /// The key of this variant. Of several responses with the same key only one is stored.
  package var key: String {
    vary.reduce(url) { $0 + "\n" + $1.name + ($1.value.map { ":" + $0 } ?? "") }
  }

  /// Whether the response can serve ranges. Encoded bodies cannot, because the stored body may be decoded.
  package var hasRanges: Bool { status == 200 && Self.isPlain(headers) }

  package static func isPlain(_ headers: HTTPHeaders) -> Bool { headers.contentCodings.isEmpty }

  /// The validator for If-Range; `nil` if the response has no strong validator.
  package var strongValidator: String? { Validators.strong(headers, now: responseTime) }
  /// The conditional request fields that validate the response (§4.3.1).
  package var conditions: [HTTPHeaders.Field] { Validators.conditions(headers) }
}

/// The head of a response, as received, with the times of request and receipt.
package struct CacheResponseHead: Sendable, Equatable {
  package var status: Int
  package var httpVersion: String
  package var headers: HTTPHeaders {
    didSet { control = CacheControl(response: headers) }
  }
  private(set) var control: CacheControl
  /// The times when the request was sent and when the head of its response was received (RFC 9111 §4.2.3).
  package var requestTime: Timestamp
  package var responseTime: Timestamp

  package init(
    status: Int, httpVersion: String = "HTTP/1.1", headers: HTTPHeaders, requestTime: Timestamp,
    responseTime: Timestamp
  ) {
    self.status = status
    self.httpVersion = httpVersion
    self.headers = headers
    control = CacheControl(response: headers)
    self.requestTime = requestTime
    self.responseTime = responseTime
  }
}

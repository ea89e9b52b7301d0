internal import HTTPDates
package import HTTPFields
package import TransferModel

/// What is known of a stored response to a GET. A 206 is kept as the 200 that it is a part of (RFC 9111 §3.3).
package struct CachedResponse: Sendable, Equatable {
  /// Of this body; never used again.
  package let id: String
  package let url: String
  package let status: Int
  package var httpVersion: String
  package var headers: HTTPHeaders {
    didSet { read = Read(headers, requestTime, responseTime, status: status) }
  }
  package var vary: [VaryField]
  package var requestTime: Timestamp {
    didSet { read = Read(headers, requestTime, responseTime, status: status) }
  }
  package var responseTime: Timestamp {
    didSet { read = Read(headers, requestTime, responseTime, status: status) }
  }
  /// Bytes of the body that are here, and their digest.
  package var size: Int64
  package var sha256: String
  /// Which bytes of the whole those are; nil: all.
  package var part: ByteRange?
  private var read: Read

  /// What the head says, read once: everyone who finds this response asks for it.
  private final class Read: Sendable, Equatable {
    let control: CacheControl
    let date: Timestamp
    let lifetime: Double
    let initialAge: Double
    let variesOnAll: Bool
    let agelessHeaders: HTTPHeaders

    /// - Parameter control: the fields' Cache-Control, if already parsed.
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

    /// It follows from the rest of the response.
    static func == (_: Read, _: Read) -> Bool { true }
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
    read = Read(headers, requestTime, responseTime, status: status, control: control)
  }

  package var control: CacheControl { read.control }
  /// When the origin made it: its Date, else when it came.
  package var date: Timestamp { read.date }
  /// Seconds that it is fresh for (RFC 9111 §4.2.1).
  var lifetime: Double { read.lifetime }
  /// How old it was when it came, in seconds (§4.2.3: corrected_initial_age).
  var initialAge: Double { read.initialAge }
  /// All but Age, which is another each time that it is served.
  var agelessHeaders: HTTPHeaders { read.agelessHeaders }
  /// No request selects it (§4.1: `Vary: *`).
  var variesOnAll: Bool { read.variesOnAll }

  /// What is stored of an answer, where `Storability` has allowed it.
  /// - Parameters:
  ///   - size: bytes of the body that came.
  ///   - isComplete: false where the connection ended before the body did.
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

  /// The bytes that came, where they are not the whole.
  static func part(of head: CacheResponseHead, size: Int64, isComplete: Bool) -> ByteRange? {
    if head.status == 206, var range = ByteRange(contentRange: head.headers.unambiguous("Content-Range")) {
      range.last = range.first + size - 1
      return range.isWhole ? nil : range
    }
    guard !isComplete else { return nil }
    let total = head.headers.contentLength
    return ByteRange(first: 0, last: size - 1, total: total)
  }

  /// Answers only requests that say the same in a field as the one that it answered did, where that said anything.
  /// - Parameter name: in lower case.
  package mutating func depend(on name: String, of request: CacheRequest) {
    guard !vary.contains(where: { $0.name == name }),
      let field = Vary.field(name, request: request.headers)
    else { return }
    vary.append(field)
  }

  package var method: String { "GET" }
  package var isComplete: Bool { part == nil }

  /// What is the same of all responses of which only one is stored: they would answer the same requests.
  package var key: String {
    vary.reduce(url) { $0 + "\n" + $1.name + ($1.value.map { ":" + $0 } ?? "") }
  }

  /// Ranges of it can be taken: it is not coded, as the body that is stored may not be either.
  package var hasRanges: Bool { status == 200 && Self.isPlain(headers) }

  package static func isPlain(_ headers: HTTPHeaders) -> Bool { headers.contentCodings.isEmpty }

  /// What names the version in If-Range, where there is such a thing.
  package var strongValidator: String? { Validators.strong(headers, now: responseTime) }
  /// The fields that ask whether it is still right (§4.3.1).
  package var conditions: [HTTPHeaders.Field] { Validators.conditions(headers) }
}

/// An answer's head as it came, and when.
package struct CacheResponseHead: Sendable, Equatable {
  package var status: Int
  package var httpVersion: String
  package var headers: HTTPHeaders {
    didSet { control = CacheControl(response: headers) }
  }
  private(set) var control: CacheControl
  /// When the request was sent, and when the head of the answer was there (RFC 9111 §4.2.3).
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

internal import ContentCoding
internal import Curl
internal import DequeModule
internal import HTTPFields
internal import TransferModel

/// A multipart response on its way to its task, which may have to decide about each part. Pure.
struct MultipartResponse {
  private var parser: MultipartParser
  /// The parsed pieces that were not delivered yet.
  private var pending = Deque<MultipartPiece>()

  /// Returns `nil` if the response is not multipart.
  init?(contentType: String) {
    guard let parser = MultipartParser(contentType: contentType) else { return nil }
    self.parser = parser
  }

  var isMalformed: Bool { parser.isMalformed }

  mutating func add(_ bytes: UnsafeRawBufferPointer) {
    parser.add(bytes) { pending.append(MultipartPiece($0)) }
  }

  /// Ends the response, which may lack its last delimiter.
  mutating func finish() {
    parser.finish { pending.append(MultipartPiece($0)) }
  }

  /// Whether a part begins next.
  var isAtHead: Bool { if case .head = pending.first { true } else { false } }

  mutating func next() -> MultipartPiece? { pending.popFirst() }
}

/// A piece of a multipart response, kept beyond libcurl's callback.
enum MultipartPiece {
  case head(HTTPHeaders)
  case body([UInt8])
  case end

  init(_ output: MultipartParser.Output) {
    switch output {
    case .head(let fields): self = .head(fields)
    case .body(let bytes): self = .body(Array(bytes))
    case .end: self = .end
    }
  }
}

extension TransferResponse {
  /// Creates a response as clients see it.
  init(_ head: ResponseHead, at url: CurlURL) {
    let isEncoded = ContentDecoder.decodes(head.headers.contentCodings)
    let length = isEncoded ? nil : head.headers.contentLength
    self.init(
      url: url.text, status: head.status, headers: Redirect.hidingUser(in: head.headers, at: url),
      expectedContentLength: length ?? -1, httpVersion: head.httpVersion)
  }

  /// Creates the response of a part, whose own fields override the whole response's. URLSession shows one response for each part.
  init(part fields: HTTPHeaders, of head: ResponseHead, at url: CurlURL) {
    var rest = head.headers
    for name in ["Content-Type", "Content-Length"] { rest.remove(name) }
    self.init(
      url: url.text, status: head.status, headers: fields.merging(defaults: rest),
      expectedContentLength: fields.contentLength ?? -1,
      httpVersion: head.httpVersion)
  }
}

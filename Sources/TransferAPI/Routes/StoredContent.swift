internal import Limits
internal import HTTPServer
internal import HTTPTypes
internal import TransferModel

/// A stored body or file as a reply: entity tag, digest, and one range if requested (RFC 9110 §14).
struct StoredContent {
  let size: Int64
  /// In lowercase hexadecimal.
  let sha256: String
  let fields: HTTPFields

  static let unknownType = "application/octet-stream"
  /// The maximum size in bytes of each text about the content in a reply's head. Longer texts are left out.
  static let maximumType = Limits.replyTextBytes.value
  static let maximumFilename = Limits.replyTextBytes.value

  /// Header fields that keep a browser from running an origin's content under this service's name.
  static func safeFields(type: String) -> HTTPFields {
    var fields = HTTPFields()
    fields[.contentType] = type.utf8.count <= maximumType ? type : unknownType
    fields[.cacheControl] = "no-store"
    fields[HTTPField.Name("X-Content-Type-Options")!] = "nosniff"
    fields[HTTPField.Name("Content-Security-Policy")!] = "sandbox"
    return fields
  }

  func reply(
    to context: RequestContext, _ body: (Range<Int64>) -> ServerResponse.Body
  ) throws -> ServerResponse {
    var fields = fields
    let tag = "\"\(sha256)\""
    fields[.eTag] = tag
    // If-Match precedes Range, because the range may exist only in the other version.
    try Precondition.check(context, tag: tag)
    fields[.acceptRanges] = "bytes"
    fields[.reprDigest] = "sha-256=:\(Base64.encode(Hexadecimal.bytes(sha256) ?? [])):"
    if EntityTag.matches(context.field(.ifNoneMatch), tag) {
      return ServerResponse(status: .notModified, fields: fields, body: body(0..<size))
    }
    let ifRange = context.field(.ifRange)
    guard ifRange == nil || ifRange == tag, let asked = context.field(.range) else {
      return ServerResponse(status: .ok, fields: fields, body: body(0..<size))
    }
    switch RequestedRange.parse(asked, size: size) {
    case .whole: return ServerResponse(status: .ok, fields: fields, body: body(0..<size))
    case .part(let range):
      fields[.contentRange] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(size)"
      return ServerResponse(status: .partialContent, fields: fields, body: body(range))
    case .unsatisfiable:
      throw Problem(.rangeNotSatisfiable, "the body has \(size) bytes").with(
        "Content-Range", "bytes */\(size)")
    }
  }
}

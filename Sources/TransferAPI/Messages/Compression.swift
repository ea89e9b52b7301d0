internal import ContentCoding
internal import HTTPServer
internal import HTTPTypes

/// gzip for the JSON that clients read.
enum Compression {
  /// Less than this fits into one packet as it is.
  private static let minimumBytes = 1400

  /// The reply as gzip where it is long, and the client takes that. Its entity tag becomes a weak one: the same version,
  /// other bytes (RFC 9110 §8.8.1).
  static func apply(to reply: ServerResponse, for context: RequestContext) -> ServerResponse {
    guard context.isRead, reply.head.status == .ok, case .bytes(let bytes) = reply.body,
      bytes.count >= minimumBytes
    else { return reply }
    var reply = reply
    reply.head.headerFields[.vary] = "Accept-Encoding"
    guard takesGzip(context.field(.acceptEncoding)), let compressed = Gzip.compress(bytes) else {
      return reply
    }
    reply.head.headerFields[.contentEncoding] = "gzip"
    if let tag = reply.head.headerFields[.eTag] { reply.head.headerFields[.eTag] = "W/" + tag }
    reply.body = .bytes(compressed)
    return reply
  }

  /// Whether a field `Accept-Encoding` (RFC 9110 §12.5.3) names gzip, or all codings, and does not refuse it.
  static func takesGzip(_ field: String?) -> Bool {
    guard let field else { return false }
    var takesOthers = false
    for entry in field.split(separator: ",") {
      switch Acceptance.essence(entry) {
      case "gzip", "x-gzip": return !Acceptance.isRefused(entry)
      case "*": takesOthers = !Acceptance.isRefused(entry)
      default: continue
      }
    }
    return takesOthers
  }
}

internal import ContentCoding
internal import HTTPServer
internal import HTTPTypes

/// Compresses replies with gzip.
enum Compression {
  /// The size below which a reply is not compressed, because it fits into one packet.
  private static let minimumBytes = 1400

  /// Compresses a JSON reply if it is long and the client accepts gzip. The entity tag becomes weak: the version is the same, the
  /// bytes differ (RFC 9110 §8.8.1).
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

  /// Whether a field Accept-Encoding (RFC 9110 §12.5.3) accepts gzip, by name or by `*`.
  static func takesGzip(_ field: String?) -> Bool {
    guard let field else { return false }
    var takesOthers = false
    for entry in field.split(separator: ",") {
      switch ContentNegotiation.essence(entry) {
      case "gzip", "x-gzip": return !ContentNegotiation.isRefused(entry)
      case "*": takesOthers = !ContentNegotiation.isRefused(entry)
      default: continue
      }
    }
    return takesOthers
  }
}

internal import HTTPFields
internal import HTTPServer
internal import HTTPTypes
internal import JSON
internal import TransferModel

extension HTTPField.Name {
  static let allow = Self("Allow")!
  static let idempotencyKey = Self("Idempotency-Key")!
  static let lastEventID = Self("Last-Event-ID")!
  static let link = Self("Link")!
  static let prefer = Self("Prefer")!
  static let preferenceApplied = Self("Preference-Applied")!
  static let reprDigest = Self("Repr-Digest")!
  static let requestID = Self("Request-Id")!
}

/// Builds replies with the header fields that all replies share.
enum ReplyBuilder {
  /// Makes a reply that ends with a line feed, for terminals.
  static func json(
    _ bytes: consuming [UInt8], status: Int = 200, fields: HTTPFields = [:],
    type: String = "application/json"
  ) -> ServerResponse {
    var fields = fields
    fields[.contentType] = type
    fields[.cacheControl] = "no-store"
    return ServerResponse(status: .init(code: status), fields: fields, body: .bytes(withLineFeed(bytes)))
  }

  private static func withLineFeed(_ bytes: consuming [UInt8]) -> [UInt8] {
    if bytes.last != UInt8(ascii: "\n") { bytes.append(UInt8(ascii: "\n")) }
    return bytes
  }

  /// Formats a reply in JSON for people. The bytes differ from those that a strong entity tag names, so the tag becomes weak.
  static func formatted(_ reply: ServerResponse) -> ServerResponse {
    guard case .bytes(let bytes) = reply.body, reply.head.headerFields[.contentEncoding] == nil,
      ["application/json", "application/problem+json"].contains(reply.head.headerFields[.contentType])
    else { return reply }
    var reply = reply
    reply.body = .bytes(withLineFeed(JSONFormatter.format(bytes)))
    if let tag = reply.head.headerFields[.eTag], !tag.hasPrefix("W/") {
      reply.head.headerFields[.eTag] = "W/" + tag
    }
    return reply
  }

  /// A resource with a strong ETag of its representation, or 304 if the client has this version.
  /// - Parameter tag: the tag of the resource, if the bytes have more than the resource.
  static func resource(
    _ bytes: [UInt8], for context: RequestContext, status: Int = 200, fields: HTTPFields = [:],
    tag: String? = nil
  ) -> ServerResponse {
    let tag = tag ?? EntityTag.of(bytes)
    var fields = fields
    fields[.eTag] = tag
    if status == 200, context.isRead, EntityTag.matches(context.field(.ifNoneMatch), tag) {
      fields[.cacheControl] = "no-store"
      // The body gives Content-Length the value of a 200 (RFC 9110 §8.6). The server does not send the bytes.
      let bytes = withLineFeed(context.wantsFormat ? JSONFormatter.format(bytes) : bytes)
      return ServerResponse(status: .notModified, fields: fields, body: .bytes(bytes))
    }
    let reply = json(bytes, status: status, fields: fields)
    return context.wantsFormat ? formatted(reply) : Compression.apply(to: reply, for: context)
  }

  static func problem(_ problem: Problem) -> ServerResponse {
    var fields = HTTPFields()
    for field in problem.fields {
      if let name = HTTPField.Name(field.name) { fields[name] = field.value }
    }
    if problem.kind == .unauthorized { fields[.wwwAuthenticate] = "Bearer realm=\"ferry\"" }
    return json(problem.json, status: problem.kind.status, fields: fields, type: "application/problem+json")
  }

  static func text(_ text: String, status: Int = 200, type: String = "text/plain; charset=utf-8")
    -> ServerResponse
  {
    var fields = HTTPFields()
    fields[.contentType] = type
    fields[.cacheControl] = "no-store"
    return ServerResponse(status: .init(code: status), fields: fields, body: .bytes(Array(text.utf8)))
  }

  static func noContent() -> ServerResponse {
    ServerResponse(status: .noContent, fields: [.cacheControl: "no-store"])
  }
}

/// Entity tags (RFC 9110 §8.8.3).
enum EntityTag {
  /// The FNV-1a hash of the representation, 64 bits. It only distinguishes versions of one resource.
  static func of(_ bytes: [UInt8]) -> String {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    return "\"" + String(hash, radix: 36) + "\""
  }

  /// Whether If-Match permits a change of the version with this tag. Against RFC 9110 §13.1.1, a weak tag matches too. A proxy
  /// weakens our tag when it compresses the reply, but the tag names the same version.
  static func permits(_ ifMatch: String?, _ tag: String) -> Bool { ifMatch == nil || matches(ifMatch, tag) }

  /// Whether a list of entity tags names the tag, by weak comparison.
  static func matches(_ field: String?, _ tag: String) -> Bool {
    guard let field else { return false }
    return field.split(separator: ",").contains { candidate in
      let candidate = candidate.trimmingBlanks
      return candidate == "*" || candidate == tag || candidate == "W/" + tag
    }
  }
}

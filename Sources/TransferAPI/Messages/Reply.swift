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

/// Replies, built in one place so that all of them carry what the conventions ask for.
enum Reply {
  static func json(
    _ bytes: [UInt8], status: Int = 200, fields: HTTPFields = [:], type: String = "application/json"
  ) -> ServerResponse {
    var fields = fields
    fields[.contentType] = type
    fields[.cacheControl] = "no-store"
    return ServerResponse(status: .init(code: status), fields: fields, body: .bytes(bytes))
  }

  /// A resource with a strong ETag over its representation; 304 where the client has that.
  static func resource(
    _ bytes: [UInt8], for context: RequestContext, status: Int = 200, fields: HTTPFields = [:]
  ) -> ServerResponse {
    let tag = EntityTag.of(bytes)
    var fields = fields
    fields[.eTag] = tag
    if status == 200, context.isRead, EntityTag.matches(context.field(.ifNoneMatch), tag) {
      fields[.cacheControl] = "no-store"
      // Its length is that of the 200 (RFC 9110 §8.6); the bytes are not sent.
      return ServerResponse(status: .notModified, fields: fields, body: .bytes(bytes))
    }
    return Compression.apply(to: json(bytes, status: status, fields: fields), for: context)
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

/// Strong validators (RFC 9110 §8.8.3).
enum EntityTag {
  /// FNV-1a over the representation, 64 bits: tells representations of one resource apart, nothing more.
  static func of(_ bytes: [UInt8]) -> String {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
    return "\"" + String(hash, radix: 36) + "\""
  }

  /// True where If-Match lets a change of what has this tag pass. A weak tag is one of ours that a proxy has weakened since it
  /// compressed the reply: it names the same version, so it counts, against RFC 9110 §13.1.1.
  static func permits(_ ifMatch: String?, _ tag: String) -> Bool { ifMatch == nil || matches(ifMatch, tag) }

  /// True where a field of these forms names the tag; weak comparison.
  static func matches(_ field: String?, _ tag: String) -> Bool {
    guard let field else { return false }
    return field.split(separator: ",").contains { candidate in
      let candidate = candidate.trimmingBlanks
      return candidate == "*" || candidate == tag || candidate == "W/" + tag
    }
  }
}

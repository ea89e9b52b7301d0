package import TransferModel

/// What tells versions of a resource apart (RFC 9110 §8.8).
package enum Validators {
  /// The entity tag as it came.
  static func entityTag(_ headers: HTTPHeaders) -> String? {
    headers.all("ETag").first.flatMap { $0.isEmpty ? nil : $0 }
  }

  static func lastModified(_ headers: HTTPHeaders) -> String? {
    headers.all("Last-Modified").first.flatMap { $0.isEmpty ? nil : $0 }
  }

  static func isStrong(_ tag: String) -> Bool {
    tag.utf8.count >= 2 && tag.utf8.first == UInt8(ascii: "\"") && tag.utf8.last == UInt8(ascii: "\"")
  }

  /// The weak comparison (§8.8.3.2).
  static func areWeaklyEqual(_ left: String, _ right: String) -> Bool { opaque(left) == opaque(right) }

  private static func opaque(_ tag: String) -> Substring { tag.hasPrefix("W/") ? tag.dropFirst(2) : tag[...] }

  /// Whether an origin would know the tag again: the bytes of one that is not ASCII are not known any more.
  package static func canBeSent(_ tag: String) -> Bool { tag.utf8.allSatisfy { $0 < 0x80 } }

  /// What may stand in If-Range (§13.1.5): a strong tag; without any tag, a date that was a minute old when it came
  /// (§8.8.2.2).
  package static func strong(_ headers: HTTPHeaders, now: Timestamp) -> String? {
    if let tag = entityTag(headers) { return isStrong(tag) && canBeSent(tag) ? tag : nil }
    guard let text = lastModified(headers), let modified = HTTPDate.parse(text, now: now),
      let date = headers.all("Date").first.flatMap({ HTTPDate.parse($0, now: now) }),
      date.since(modified) >= 60
    else { return nil }
    return text
  }

  /// The fields that ask whether what is stored is still right (RFC 9111 §4.3.1).
  static func conditions(_ headers: HTTPHeaders) -> [HTTPHeaders.Field] {
    var fields: [HTTPHeaders.Field] = []
    if let tag = entityTag(headers), canBeSent(tag) {
      fields.append(.init(name: "If-None-Match", value: tag))
    }
    if let date = lastModified(headers) { fields.append(.init(name: "If-Modified-Since", value: date)) }
    return fields
  }
}

internal import HTTPDates
package import HTTPFields
package import TransferModel

/// The validators of a response, which distinguish versions of a resource (RFC 9110 §8.8).
package enum Validators {
  /// Returns the entity tag, unchanged; `nil` if the response has no tag or several different ones.
  static func entityTag(_ headers: HTTPHeaders) -> String? { validator("ETag", headers) }

  static func lastModified(_ headers: HTTPHeaders) -> String? { validator("Last-Modified", headers) }

  private static func validator(_ name: String, _ headers: HTTPHeaders) -> String? {
    headers.unambiguous(name).flatMap { $0.isEmpty ? nil : $0 }
  }

  static func isStrong(_ tag: String) -> Bool {
    tag.utf8.count >= 2 && tag.utf8.first == UInt8(ascii: "\"") && tag.utf8.last == UInt8(ascii: "\"")
  }

  /// The weak comparison of entity tags (§8.8.3.2).
  static func areWeaklyEqual(_ left: String, _ right: String) -> Bool { opaque(left) == opaque(right) }

  private static func opaque(_ tag: String) -> Substring { tag.hasPrefix("W/") ? tag.dropFirst(2) : tag[...] }

  /// Whether Ferry can send a tag back unchanged. The original bytes of a tag with non-ASCII characters are lost.
  package static func canBeSent(_ tag: String) -> Bool { tag.utf8.allSatisfy { $0 < 0x80 } }

  /// The seconds by which Date must be later than Last-Modified if Last-Modified is to be a strong validator (§8.8.2.2).
  private static let strongDateAge = 1.0

  /// Returns the validator for If-Range (§13.1.5): a strong entity tag. A response without any tag may have a strong date instead.
  package static func strong(_ headers: HTTPHeaders, now: Timestamp) -> String? {
    if headers.all("ETag").contains(where: { !$0.isEmpty }) {
      return entityTag(headers).flatMap { isStrong($0) && canBeSent($0) ? $0 : nil }
    }
    guard let text = lastModified(headers), let modified = HTTPDate.parse(text, now: now),
      let date = headers.unambiguous("Date").flatMap({ HTTPDate.parse($0, now: now) }),
      date.since(modified) >= strongDateAge
    else { return nil }
    return text
  }

  /// Whether a response belongs to the version that a strong validator names. A response without Last-Modified agrees with a date,
  /// because a response to If-Range need not repeat the date (§15.3.7).
  /// - Parameter answersIfRange: whether the request had the validator in If-Range, so that the response may omit the tag.
  package static func agree(
    _ headers: HTTPHeaders, with validator: String, answersIfRange: Bool
  ) -> Bool {
    let tags = headers.all("ETag").filter { !$0.isEmpty }
    guard !isStrong(validator) else {
      return tags.isEmpty ? answersIfRange : tags.allSatisfy { $0 == validator }
    }
    return tags.isEmpty && headers.all("Last-Modified").allSatisfy { $0.isEmpty || $0 == validator }
  }

  /// Returns the conditional request fields that validate a stored response (RFC 9111 §4.3.1).
  static func conditions(_ headers: HTTPHeaders) -> [HTTPHeaders.Field] {
    var fields: [HTTPHeaders.Field] = []
    if let tag = entityTag(headers), canBeSent(tag) {
      fields.append(.init(name: "If-None-Match", value: tag))
    }
    if let date = lastModified(headers) { fields.append(.init(name: "If-Modified-Since", value: date)) }
    return fields
  }
}

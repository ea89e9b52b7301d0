internal import TransferModel

/// Operations on the octets of cookies. Swift's strings would treat `;` and a following accent as one character, and two encodings of `é`
/// as equal.
enum CookieText {
  /// Whether the text has control characters other than the tab, which invalidate a cookie (RFC 6265bis §5.6).
  static func hasControls(_ text: String) -> Bool {
    let bytes = text.utf8Span.span
    for place in bytes.indices {
      let byte = bytes[place]
      if byte < 0x20 && byte != 0x09 || byte == 0x7F { return true }
    }
    return false
  }

  /// Returns a part of a string that begins and ends next to ASCII characters.
  static func text(_ bytes: borrowing Span<UInt8>, _ range: Range<Int>) -> String {
    guard !range.isEmpty, let text = try? UTF8Span(validating: bytes.extracting(range)) else { return "" }
    return String(copying: text)
  }

  static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

  static func lowercased(_ byte: UInt8) -> UInt8 { byte &- UInt8(ascii: "A") < 26 ? byte | 0x20 : byte }

  static func lowercased(_ bytes: some Sequence<UInt8>) -> String {
    String(decoding: bytes.map(lowercased), as: UTF8.self)
  }

  static func equal(_ left: String, _ right: String) -> Bool {
    guard left.utf8.count == right.utf8.count else { return false }
    let (first, second) = (left.utf8Span.span, right.utf8Span.span)
    for place in first.indices where first[place] != second[place] { return false }
    return true
  }

  /// Whether a text begins with a prefix, ignoring ASCII case.
  /// - Parameter prefix: the prefix in lower case.
  static func starts(_ text: String, withoutCase prefix: String) -> Bool {
    let (bytes, prefix) = (text.utf8Span.span, prefix.utf8Span.span)
    guard bytes.count >= prefix.count else { return false }
    for place in prefix.indices where lowercased(bytes[place]) != prefix[place] { return false }
    return true
  }
}

/// Limits of RFC 6265bis §5.5 and §5.6.
enum CookieLimit {
  /// The greatest age in seconds: 400 days.
  static let age = 34_560_000
}

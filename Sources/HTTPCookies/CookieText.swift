internal import TransferModel

/// What cookies ask of octets. Everything is compared and counted in octets: to Swift's strings `;` and an accent after it
/// were one character, and two spellings of `é` one name.
enum CookieText {
  /// RFC 6265bis §5.6: control characters but the tab end the whole cookie.
  static func hasControls(_ text: String) -> Bool {
    let bytes = text.utf8Span.span
    for place in bytes.indices {
      let byte = bytes[place]
      if byte < 0x20 && byte != 0x09 || byte == 0x7F { return true }
    }
    return false
  }

  /// A part of a string's bytes that begins and ends beside ASCII characters.
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

  /// - Parameter prefix: in lower case.
  static func starts(_ text: String, withoutCase prefix: String) -> Bool {
    let (bytes, prefix) = (text.utf8Span.span, prefix.utf8Span.span)
    guard bytes.count >= prefix.count else { return false }
    for place in prefix.indices where lowercased(bytes[place]) != prefix[place] { return false }
    return true
  }
}

/// RFC 6265bis §5.6 and §5.5.
enum CookieLimit {
  /// Seconds: 400 days.
  static let age = 34_560_000
}

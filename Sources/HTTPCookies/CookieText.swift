/// What cookies ask of octets. Everything is compared and counted in octets: to Swift's strings `;` and an accent after it
/// were one character, and two spellings of `é` one name.
enum CookieText {
  /// RFC 6265bis §5.6: control characters but the tab end the whole cookie.
  static func hasControls(_ bytes: some Sequence<UInt8>) -> Bool {
    bytes.contains { $0 < 0x20 && $0 != 0x09 || $0 == 0x7F }
  }

  static func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

  /// Without blanks at both ends.
  static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    var bytes = bytes.drop(while: isBlank)
    while let last = bytes.last, isBlank(last) { bytes.removeLast() }
    return bytes
  }

  static func lowercased(_ byte: UInt8) -> UInt8 { byte &- UInt8(ascii: "A") < 26 ? byte | 0x20 : byte }

  static func lowercased(_ bytes: some Sequence<UInt8>) -> String {
    String(decoding: bytes.map(lowercased), as: UTF8.self)
  }

  static func equal(_ left: String, _ right: String) -> Bool { left.utf8.elementsEqual(right.utf8) }

  /// - Parameter prefix: in lower case.
  static func starts(_ text: String, withoutCase prefix: String) -> Bool {
    text.utf8.prefix(prefix.utf8.count).map(lowercased).elementsEqual(prefix.utf8)
  }
}

/// RFC 6265bis §5.6 and §5.5.
enum CookieLimit {
  /// Seconds: 400 days.
  static let age = 34_560_000
}

/// The media types of `Content-Type` (RFC 9110 §8.3).
enum MediaType {
  /// One valid value of a field, as ranges of bytes. A server may send a hundred thousand of them.
  private struct Value {
    let text: Range<Int>
    /// The type and subtype.
    let essence: Range<Int>
    var charset: String?
    /// Whether the charset comes from an earlier value.
    var isInherited = false
  }

  /// Returns the effective type of several fields: the last valid one (Fetch, "extract a MIME type"). A value without a charset of its own
  /// inherits the charset of the preceding value if the two types are equal.
  static func effective(_ fields: [String]) -> String? {
    let isList = fields.count > 1 || fields.first?.utf8.contains(UInt8(ascii: ",")) == true
    guard isList else { return fields.first }
    let bytes = fields.reduce(into: [UInt8]()) { $0 += $1.utf8 }
    var last: Value?
    var start = 0
    for field in fields {
      // An intermediary may have joined several fields.
      let fieldEnd = start + field.utf8.count
      while start < fieldEnd {
        let end = HTTPParameters.end(of: bytes, start..<fieldEnd, at: UInt8(ascii: ","))
        // The shortest type has three bytes.
        if end - start >= 3, let value = value(trimmed(start..<end, in: bytes), in: bytes, after: last) {
          last = value
        }
        start = end + 1
      }
      start = fieldEnd
    }
    guard let last else { return fields[0] }
    let text = String(decoding: bytes[last.text], as: UTF8.self)
    return last.isInherited ? "\(text);charset=\(last.charset ?? "")" : text
  }

  private static func trimmed(_ range: Range<Int>, in bytes: [UInt8]) -> Range<Int> {
    var (start, end) = (range.lowerBound, range.upperBound)
    while start < end, bytes[start] == 0x20 || bytes[start] == 0x09 { start += 1 }
    while end > start, bytes[end - 1] == 0x20 || bytes[end - 1] == 0x09 { end -= 1 }
    return start..<end
  }

  private static let charset = Array("charset".utf8)

  /// Parses one value; `nil` if the text is no media type, or is `*/*`.
  private static func value(_ text: Range<Int>, in bytes: [UInt8], after last: Value?) -> Value? {
    var end = text.lowerBound
    while end < text.upperBound, bytes[end] != UInt8(ascii: ";") { end += 1 }
    let essence = trimmed(text.lowerBound..<end, in: bytes)
    guard isEssence(essence, in: bytes) else { return nil }
    let own = end < text.upperBound ? HTTPParameters.value(charset, in: bytes, text) : nil
    guard own == nil, let known = last?.charset, let previous = last?.essence,
      bytes[essence].isEqual(withoutCase: bytes[previous])
    else { return Value(text: text, essence: essence, charset: own) }
    return Value(text: text, essence: essence, charset: known, isInherited: true)
  }

  /// Whether a range consists of two tokens with a slash between them.
  private static func isEssence(_ range: Range<Int>, in bytes: [UInt8]) -> Bool {
    var slash: Int?
    for place in range where !FieldName.isTokenByte(bytes[place]) {
      guard bytes[place] == UInt8(ascii: "/"), slash == nil else { return false }
      slash = place
    }
    guard let slash, slash > range.lowerBound, slash + 1 < range.upperBound else { return false }
    let asterisk = UInt8(ascii: "*")
    return range.count != 3 || bytes[slash - 1] != asterisk || bytes[slash + 1] != asterisk
  }
}

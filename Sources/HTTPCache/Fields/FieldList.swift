internal import HTTPFields

/// Parsing of header fields that are lists (RFC 9110 §5.6.1).
enum FieldList {
  /// Returns the non-empty elements without surrounding blanks. If a quoted string is not closed, each comma separates elements. A
  /// directive after the open quote then still counts.
  static func elements(of field: String) -> (elements: [String], isMalformed: Bool) {
    let bytes = Array(field.utf8)
    let (parts, isMalformed) = parts(of: bytes)
    return (parts.map { String(decoding: bytes[$0], as: UTF8.self) }, isMalformed)
  }

  /// Returns the first element of a field; `nil` if the field has none.
  static func first(of field: String) -> String? {
    let bytes = Array(field.utf8)
    return parts(of: bytes).parts.first.map { String(decoding: bytes[$0], as: UTF8.self) }
  }

  /// Whether one of a field's elements is this word, ignoring ASCII case.
  static func has(_ word: String, in field: String) -> Bool {
    let (bytes, word) = (Array(field.utf8), Array(word.utf8)[...])
    return parts(of: bytes).parts.contains { bytes[$0].isEqual(withoutCase: word) }
  }

  /// Joins the elements of a field with commas, without blanks.
  static func joined(_ field: String) -> String {
    let all = Array(field.utf8)
    guard all.contains(UInt8(ascii: "\"")) else { return String(decoding: joined(all), as: UTF8.self) }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(all.count)
    for part in parts(of: all).parts {
      if !bytes.isEmpty { bytes.append(UInt8(ascii: ",")) }
      bytes.append(contentsOf: all[part])
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// Joins the elements of a field without quoted strings, in one pass. Nearly all fields are of this kind.
  private static func joined(_ field: [UInt8]) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(field.count)
    // The end of the current element without trailing blanks; `nil` between elements.
    var end: Int?
    for byte in field {
      let isBlank = byte == 0x20 || byte == 0x09
      if byte == UInt8(ascii: ",") {
        if let last = end { bytes.removeLast(bytes.count - last) }
        end = nil
      } else if end != nil || !isBlank {
        if end == nil, !bytes.isEmpty { bytes.append(UInt8(ascii: ",")) }
        bytes.append(byte)
        if !isBlank { end = bytes.count }
      }
    }
    if let last = end { bytes.removeLast(bytes.count - last) }
    return bytes
  }

  /// Returns the ranges of the non-empty elements, without surrounding blanks.
  /// - Returns: `isMalformed` is true if a quoted string is not closed.
  static func parts(of bytes: [UInt8]) -> (parts: [Range<Int>], isMalformed: Bool) {
    let field = bytes.span
    let isMalformed = hasOpenQuote(field)
    var parts: [Range<Int>] = []
    var start = 0
    while true {
      let end = comma(in: field, from: start, quotes: !isMalformed)
      let part = field.trimmingBlanks(start..<end)
      if !part.isEmpty { parts.append(part) }
      guard end < bytes.count else { return (parts, isMalformed) }
      start = end + 1
    }
  }

  /// Whether a quoted string is not closed.
  private static func hasOpenQuote(_ bytes: borrowing Span<UInt8>) -> Bool {
    var (index, isQuoted) = (0, false)
    while index < bytes.count {
      let byte = bytes[index]
      if byte == UInt8(ascii: "\"") {
        isQuoted.toggle()
      } else if isQuoted, byte == UInt8(ascii: "\\") {
        index += 1
      }
      index += 1
    }
    return isQuoted
  }

  /// Returns the index of the first comma from `start` on, or the field's length if there is none.
  /// - Parameter quotes: whether commas in quoted strings are skipped.
  private static func comma(in bytes: borrowing Span<UInt8>, from start: Int, quotes: Bool) -> Int {
    var (index, isQuoted) = (start, false)
    while index < bytes.count {
      let byte = bytes[index]
      if byte == UInt8(ascii: "\""), quotes {
        isQuoted.toggle()
      } else if isQuoted {
        if byte == UInt8(ascii: "\\") { index += 1 }
      } else if byte == UInt8(ascii: ",") {
        return index
      }
      index += 1
    }
    return bytes.count
  }

  /// Whether the fields have more than `most` elements. Every comma counts, in quoted strings and around empty elements too.
  static func hasMore(than most: Int, in fields: [String]) -> Bool {
    var count = 0
    for field in fields {
      let bytes = field.utf8Span.span
      count += 1
      for place in bytes.indices where bytes[place] == UInt8(ascii: ",") { count += 1 }
      guard count <= most else { return true }
    }
    return false
  }

  /// Returns the content of a quoted string (RFC 9110 §5.6.4), or the token itself; `nil` if a quote is not closed.
  static func unquoted(_ text: String) -> String? {
    guard text.utf8.first == UInt8(ascii: "\"") else { return text }
    let bytes = Array(text.utf8)
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count)
    var index = 1
    while index < bytes.count {
      switch bytes[index] {
      case UInt8(ascii: "\""):
        return index == bytes.count - 1 ? String(decoding: result, as: UTF8.self) : nil
      case UInt8(ascii: "\\") where index + 1 < bytes.count:
        index += 1
        result.append(bytes[index])
      default: result.append(bytes[index])
      }
      index += 1
    }
    return nil
  }

  /// Parses a number of seconds (RFC 9111 §1.2.2). Larger values than 2^31 become 2^31; `nil` if the text is not a number.
  static func seconds(_ text: String) -> Int64? {
    let bytes = text.utf8Span.span
    guard !bytes.isEmpty else { return nil }
    var seconds: Int64 = 0
    for place in bytes.indices {
      let digit = bytes[place] &- UInt8(ascii: "0")
      guard digit < 10 else { return nil }
      seconds = min(seconds * 10 + Int64(digit), maximumSeconds)
    }
    return seconds
  }
  static let maximumSeconds: Int64 = 2_147_483_648
}

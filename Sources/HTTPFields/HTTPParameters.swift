internal import JSON

/// The parameters of a media type or a disposition, such as `attachment; filename="a b.txt"` (RFC 9110 §5.6.6).
package enum HTTPParameters {
  /// Returns the parameter's value, unquoted; `nil` if it is absent or empty.
  package static func value(_ name: String, in field: String) -> String? {
    let bytes = Array(field.utf8)
    return value(Array(name.utf8), in: bytes, bytes.indices)
  }

  /// Returns the parameter's value in a range of bytes.
  static func value(_ name: [UInt8], in field: [UInt8], _ range: Range<Int>) -> String? {
    var start = end(of: field, range, at: UInt8(ascii: ";"))
    while start < range.upperBound {
      let end = end(of: field, (start + 1)..<range.upperBound, at: UInt8(ascii: ";"))
      var equals = start + 1
      while equals < end, field[equals] != UInt8(ascii: "=") { equals += 1 }
      if equals < end, field[(start + 1)..<equals].trimmingBlanks.isEqual(withoutCase: name[...]) {
        let value = unquote(field[(equals + 1)..<end].trimmingBlanks)
        return value.isEmpty ? nil : value
      }
      start = end
    }
    return nil
  }

  /// Returns the value of `name*` in UTF-8 or ISO 8859-1 (RFC 8187, RFC 5987); `nil` if it is badly encoded.
  package static func extendedValue(_ name: String, in field: String) -> String? {
    guard let value = value(name + "*", in: field) else { return nil }
    let parts = value.parts(between: "'", maxSplits: 2, omittingEmpty: false)
    guard parts.count == 3, let bytes = PercentEncoding.bytes(parts[2], isStrict: true) else { return nil }
    switch parts[0].lowercasedASCII {
    case "utf-8": return String(validating: bytes, as: UTF8.self)
    case "iso-8859-1":
      return ISO88591.text(bytes.span)
    default: return nil
    }
  }

  /// Returns the index of the first separator outside quoted strings, or the range's end.
  static func end(of field: [UInt8], _ range: Range<Int>, at separator: UInt8) -> Int {
    var (index, isQuoted) = (range.lowerBound, false)
    while index < range.upperBound {
      let byte = field[index]
      if byte == separator, !isQuoted { return index }
      if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
      index += isQuoted && byte == UInt8(ascii: "\\") ? 2 : 1
    }
    return range.upperBound
  }

  /// Returns the content of a quoted string, which ends at its second quote or with the text. A token is returned unchanged.
  private static func unquote(_ text: ArraySlice<UInt8>) -> String {
    let quote = UInt8(ascii: "\"")
    guard text.first == quote else {
      return String(decoding: text.last == quote ? text.dropLast() : text, as: UTF8.self)
    }
    var content: [UInt8] = []
    content.reserveCapacity(text.count)
    var isEscaped = false
    for byte in text.dropFirst() {
      if byte == quote, !isEscaped { break }
      isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
      if !isEscaped { content.append(byte) }
    }
    return String(decoding: content, as: UTF8.self)
  }
}

/// Percent-encoding (RFC 3986 §2.1).
package enum PercentEncoding {
  /// Decodes `%XX` in a text. If the result is not UTF-8, the text is returned unchanged.
  package static func decode(_ text: String) -> String {
    guard text.utf8.contains(UInt8(ascii: "%")) else { return text }
    return bytes(text[...], isStrict: false).flatMap { String(validating: $0, as: UTF8.self) } ?? text
  }

  /// Returns the bytes of a text with `%XX` decoded.
  /// - Parameter isStrict: whether the result is `nil` if a percent sign has no two digits after it. Otherwise the sign is kept.
  static func bytes(_ text: Substring, isStrict: Bool) -> [UInt8]? {
    var bytes: [UInt8] = []
    let utf8 = Array(text.utf8)
    bytes.reserveCapacity(utf8.count)
    var index = 0
    while index < utf8.count {
      if utf8[index] == UInt8(ascii: "%"), index + 2 < utf8.count,
        let high = hexValue(of: utf8[index + 1]), let low = hexValue(of: utf8[index + 2])
      {
        bytes.append(high << 4 | low)
        index += 3
      } else {
        guard !isStrict || utf8[index] != UInt8(ascii: "%") else { return nil }
        bytes.append(utf8[index])
        index += 1
      }
    }
    return bytes
  }
}

/// The encoding ISO 8859-1, in which each byte is the code point of its character.
package enum ISO88591 {
  package static func text(_ bytes: borrowing Span<UInt8>) -> String {
    var size = bytes.count
    for place in bytes.indices where bytes[place] >= 0x80 { size += 1 }
    return unsafe String(unsafeUninitializedCapacity: size) { memory in
      var utf8 = unsafe OutputSpan(buffer: memory, initializedCount: 0)
      for place in bytes.indices {
        let byte = bytes[place]
        if byte < 0x80 {
          utf8.append(byte)
        } else {
          utf8.append(0xC0 | byte >> 6)
          utf8.append(0x80 | byte & 0x3F)
        }
      }
      return unsafe utf8.finalize(for: memory)
    }
  }
}

extension PercentEncoding {
  /// Encodes all but unreserved characters (RFC 3986 §2.3).
  package static func encode(_ text: String) -> String {
    var encoded = ""
    for byte in text.utf8 {
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
        UInt8(ascii: "~"):
        encoded.unicodeScalars.append(Unicode.Scalar(byte))
      default: encoded += (byte < 16 ? "%0" : "%") + String(byte, radix: 16, uppercase: true)
      }
    }
    return encoded
  }
}

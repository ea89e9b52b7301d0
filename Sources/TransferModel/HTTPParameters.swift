/// Parameters behind a media type or a disposition: `attachment; filename="a b.txt"` (RFC 9110 §5.6.6).
package enum HTTPParameters {
  /// The parameter's value, unquoted; nil where it is absent or empty.
  package static func value(_ name: String, in field: String) -> String? {
    for parameter in split(field, at: ";").dropFirst() {
      guard let equals = parameter.utf8.firstIndex(of: UInt8(ascii: "=")) else { continue }
      guard HTTPHeaders.equal(Substring(parameter.utf8[..<equals]).trimmingBlanks, name) else { continue }
      let value = unquote(Substring(parameter.utf8[equals...].dropFirst()).trimmingBlanks)
      return value.isEmpty ? nil : value
    }
    return nil
  }

  /// The value of `name*` in UTF-8 or ISO 8859-1 (RFC 8187, RFC 5987); nil if it is badly encoded.
  static func extendedValue(_ name: String, in field: String) -> String? {
    guard let value = value(name + "*", in: field) else { return nil }
    let parts = value.parts(between: "'", maxSplits: 2, omittingEmpty: false)
    guard parts.count == 3, let bytes = PercentEncoding.bytes(parts[2], isStrict: true) else { return nil }
    switch parts[0].lowercased() {
    case "utf-8": return String(validating: bytes, as: UTF8.self)
    case "iso-8859-1":
      return bytes.reduce(into: "") { $0.unicodeScalars.append(Unicode.Scalar($1)) }
    default: return nil
    }
  }

  /// The parts between separators that are not in a quoted string.
  static func split(_ field: String, at separator: Unicode.Scalar) -> [Substring] {
    let separator = UInt8(ascii: separator)
    var isQuoted = false
    var isEscaped = false
    return field.utf8.split(omittingEmptySubsequences: false) { byte in
      defer { isEscaped = isQuoted && byte == UInt8(ascii: "\\") && !isEscaped }
      if byte == UInt8(ascii: "\""), !isEscaped { isQuoted.toggle() }
      return byte == separator && !isQuoted
    }.map { Substring($0) }
  }

  /// The content of a quoted string, which ends at its second quote or with the text; a token as it is. By byte: a combining
  /// mark makes one character with the quote before it.
  private static func unquote(_ text: String) -> String {
    let quote = UInt8(ascii: "\"")
    guard text.utf8.first == quote else {
      return text.utf8.last == quote ? String(Substring(text.utf8.dropLast())) : text
    }
    var content: [UInt8] = []
    var isEscaped = false
    for byte in text.utf8.dropFirst() {
      if byte == quote, !isEscaped { break }
      isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
      if !isEscaped { content.append(byte) }
    }
    return String(decoding: content, as: UTF8.self)
  }
}

/// Percent-encoding (RFC 3986 §2.1).
package enum PercentEncoding {
  /// The text with `%XX` decoded; left alone where that is not UTF-8.
  package static func decode(_ text: String) -> String {
    guard text.utf8.contains(UInt8(ascii: "%")) else { return text }
    return bytes(text[...], isStrict: false).flatMap { String(validating: $0, as: UTF8.self) } ?? text
  }

  /// The bytes of a text with `%XX` decoded.
  /// - Parameter isStrict: nil if a percent sign has not two digits behind it; otherwise the sign stands for itself.
  static func bytes(_ text: Substring, isStrict: Bool) -> [UInt8]? {
    var bytes: [UInt8] = []
    let utf8 = Array(text.utf8)
    var index = 0
    while index < utf8.count {
      if utf8[index] == UInt8(ascii: "%"), index + 2 < utf8.count,
        let high = Hexadecimal.value(of: utf8[index + 1]), let low = Hexadecimal.value(of: utf8[index + 2])
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

extension StringProtocol {
  /// The parts between separators, which are ASCII. Characters would be dearer by far, and a combining mark would hide a separator.
  package func parts(
    between separator: Unicode.Scalar, maxSplits: Int = .max, omittingEmpty: Bool = true
  ) -> [Substring] {
    Substring(self).utf8
      .split(
        separator: UInt8(ascii: separator), maxSplits: maxSplits, omittingEmptySubsequences: omittingEmpty
      )
      .map { Substring($0) }
  }

  /// Without spaces and tabs at both ends.
  package var trimmingBlanks: String {
    let isBlank: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 }
    let start = Substring(self).utf8.drop(while: isBlank)
    guard let last = start.lastIndex(where: { !isBlank($0) }) else { return "" }
    return String(Substring(start[...last]))
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
      default: encoded += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
      }
    }
    return encoded
  }
}

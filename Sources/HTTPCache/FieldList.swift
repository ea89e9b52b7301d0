internal import TransferModel

/// Fields that are lists (RFC 9110 §5.6.1).
enum FieldList {
  /// The elements without blanks around them; empty ones are none. Where a quoted string is left open, commas count
  /// everywhere: a directive behind it is rather seen than lost.
  static func elements(of field: String) -> (elements: [String], isMalformed: Bool) {
    let bytes = Array(field.utf8)
    var parts: [ArraySlice<UInt8>] = []
    var (start, index, isQuoted) = (0, 0, false)
    while index < bytes.count {
      switch bytes[index] {
      case UInt8(ascii: "\""): isQuoted.toggle()
      case UInt8(ascii: "\\") where isQuoted: index += 1
      case UInt8(ascii: ",") where !isQuoted:
        parts.append(bytes[start..<index])
        start = index + 1
      default: break
      }
      index += 1
    }
    parts.append(bytes[start...])
    if isQuoted { parts = bytes.split(separator: UInt8(ascii: ",")) }
    let texts = parts.map { String(decoding: $0, as: UTF8.self).trimmingBlanks }
    return (texts.filter { !$0.isEmpty }, isQuoted)
  }

  /// Whether the fields have more elements than `most`, by their commas: those in quotes and empty elements count.
  static func hasMore(than most: Int, in fields: [String]) -> Bool {
    fields.reduce(0) { count, field in
      count + field.utf8.reduce(1) { $1 == UInt8(ascii: ",") ? $0 + 1 : $0 }
    } > most
  }

  /// What a quoted string says (RFC 9110 §5.6.4), or the token itself; nil where a quote is left open.
  static func unquoted(_ text: String) -> String? {
    let bytes = Array(text.utf8)
    guard bytes.first == UInt8(ascii: "\"") else { return text }
    var result: [UInt8] = []
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

  /// Seconds as digits (RFC 9111 §1.2.2): what is too large is 2^31; nil where it is no such number.
  static func seconds(_ text: String) -> Int64? {
    guard !text.isEmpty, text.utf8.allSatisfy({ $0 &- UInt8(ascii: "0") < 10 }) else { return nil }
    return min(Int64(text) ?? maximumSeconds, maximumSeconds)
  }
  static let maximumSeconds: Int64 = 2_147_483_648
}

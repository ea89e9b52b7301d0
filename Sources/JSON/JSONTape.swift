/// A parsed JSON text: its bytes, and one record for each value and each member's name, in the order of the text.
///
/// Parsing allocates once for a text, not for each array, object and string. The design follows simdjson's tape (Langdale and Lemire,
/// "Parsing gigabytes of JSON per second", 2019, §3.1).
struct JSONTape: Sendable {
  struct Record {
    enum Kind: UInt8 { case null, bool, integer, number, string, array, object }

    let kind: Kind
    /// Whether the text of a string has escape sequences.
    var hasEscapes = false
    /// The offset of a scalar's first byte; for a string, of the byte after the quotation mark.
    let start: UInt32
    /// The end of a scalar's text, or the number of a container's elements or members.
    var endOrCount: UInt32 = 0
    /// The index of the first record after this value and all that it contains; 0 for a container that is not closed yet.
    var next: UInt32 = 0

    var range: Range<Int> { Int(start)..<Int(endOrCount) }
  }

  let bytes: [UInt8]
  let records: [Record]

  func text(of record: Record) -> String { Self.text(of: record, in: bytes) }

  static func text(of record: Record, in bytes: [UInt8]) -> String {
    guard record.hasEscapes else { return String(decoding: bytes[record.range], as: UTF8.self) }
    return String(decoding: JSONText.decoded(bytes.span.extracting(record.range)), as: UTF8.self)
  }

  /// A JSON pointer to the value that would be added next.
  var pointerToNext: String {
    var (pointer, container) = ("", 0)
    while container < records.count {
      let isObject = records[container].kind == .object
      // A member's name is in front of its value.
      let names = isObject ? 1 : 0
      var (index, value) = (0, container + 1 + names)
      while value < records.count, records[value].next > 0 {
        (index, value) = (index + 1, Int(records[value].next) + names)
      }
      let step = isObject ? text(of: records[value - 1]) : String(index)
      pointer = JSONPointer.appending(step, to: pointer)
      container = value
    }
    return pointer
  }

  /// Whether the string has this text, compared by bytes.
  func isText(of record: Record, equalTo text: borrowing Span<UInt8>) -> Bool {
    if record.hasEscapes {
      // Each decoded byte takes at most six bytes of text, and an escape sequence is longer than its decoded bytes.
      guard record.range.count > text.count, record.range.count <= 6 * text.count else { return false }
      let decoded = JSONText.decoded(bytes.span.extracting(record.range))
      return decoded.span.equals(text)
    }
    return bytes.span.extracting(record.range).equals(text)
  }
}

extension Span<UInt8> {
  func equals(_ other: borrowing Span<UInt8>) -> Bool {
    guard count == other.count else { return false }
    for place in indices where self[place] != other[place] { return false }
    return true
  }
}

extension String {
  /// Whether both strings have the same bytes; `==` also treats canonically equivalent strings as equal.
  package func hasSameBytes(as other: String) -> Bool { utf8Span.span.equals(other.utf8Span.span) }
}

/// The text between the quotation marks of a JSON string (RFC 8259 §7).
enum JSONText {
  /// Returns the decoded bytes of a valid text.
  static func decoded(_ text: borrowing Span<UInt8>) -> [UInt8] {
    var (decoded, place) = ([UInt8](), 0)
    decoded.reserveCapacity(text.count)
    while place < text.count {
      let byte = text[place]
      place += 1
      guard byte == UInt8(ascii: "\\") else {
        decoded.append(byte)
        continue
      }
      let escape = text[place]
      place += 1
      switch escape {
      case UInt8(ascii: "b"): decoded.append(0x08)
      case UInt8(ascii: "f"): decoded.append(0x0C)
      case UInt8(ascii: "n"): decoded.append(0x0A)
      case UInt8(ascii: "r"): decoded.append(0x0D)
      case UInt8(ascii: "t"): decoded.append(0x09)
      case UInt8(ascii: "u"):
        var unit = codeUnit(text, at: place) ?? 0
        place += 4
        if unit & 0xFC00 == 0xD800 {
          unit = 0x10000 + (unit & 0x3FF) << 10 + ((codeUnit(text, at: place + 2) ?? 0) & 0x3FF)
          place += 6
        }
        for byte in UTF8.encode(Unicode.Scalar(unit) ?? "\u{FFFD}") ?? UTF8.encodedReplacementCharacter {
          decoded.append(byte)
        }
      default: decoded.append(escape)
      }
    }
    return decoded
  }

  /// Returns the value of four hexadecimal digits; `nil` if there are fewer.
  static func codeUnit(_ text: borrowing Span<UInt8>, at start: Int) -> UInt32? {
    guard start + 4 <= text.count else { return nil }
    var unit: UInt32 = 0
    for place in start..<start + 4 {
      guard let value = hexValue(of: text[place]) else { return nil }
      unit = unit << 4 | UInt32(value)
    }
    return unit
  }
}

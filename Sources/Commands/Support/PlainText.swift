/// Text of servers and files for a terminal. Control characters never reach it, and widths count cells.
enum PlainText {
  /// Replaces control and format characters, which could move the cursor or reverse the text.
  static func safe(_ text: String) -> String {
    var result = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      switch scalar.properties.generalCategory {
      case .control, .lineSeparator, .paragraphSeparator, .surrogate: result.append("?")
      case .format: continue
      default: result.append(scalar)
      }
    }
    return String(result)
  }

  /// Escapes the characters of a JSON text that could change a terminal. The text keeps its meaning.
  static func safe(json bytes: [UInt8]) -> String {
    let text = String(decoding: bytes, as: UTF8.self)
    guard !bytes.allSatisfy({ $0 < 0x7F }) else { return text }
    var result = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      switch scalar.properties.generalCategory {
      case .control, .format, .lineSeparator, .paragraphSeparator:
        for unit in String(scalar).utf16 {
          let digits = String(unit, radix: 16)
          result.append(
            contentsOf: ("\\u" + String(repeating: "0", count: 4 - digits.count) + digits).unicodeScalars)
        }
      default: result.append(scalar)
      }
    }
    return String(result)
  }

  /// The cells that a scalar takes: 0 for combining marks, 2 for East Asian wide characters and emoji (UAX #11).
  private static func width(_ scalar: Unicode.Scalar) -> Int {
    guard scalar.value >= 0x300 else { return 1 }
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format, .control: return 0
    default: break
    }
    switch scalar.value {
    case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0x9FFF, 0xA000...0xA4CF,
      0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6,
      0x1F300...0x1F64F, 0x1F680...0x1F6FF, 0x1F900...0x1FAFF, 0x20000...0x3FFFD:
      return 2
    default: return 1
    }
  }

  static func width(_ text: String) -> Int { text.unicodeScalars.reduce(0) { $0 + width($1) } }

  /// Shortens a text to a number of cells. The end stays, because it has the extension.
  static func fitted(_ text: String, to cells: Int) -> String {
    guard let cut = cut(text, to: cells) else { return text }
    guard cells > 0 else { return "" }
    var result = String.UnicodeScalarView(text.unicodeScalars.prefix(cut.head))
    result.append("…")
    result.append(contentsOf: text.unicodeScalars.suffix(cut.tail.count))
    return String(result)
  }

  /// Returns the scalars that stay before and after the ellipsis of a shortened text; `nil` if the text fits.
  static func cut(_ text: String, to cells: Int) -> (head: Int, tail: Range<Int>)? {
    guard width(text) > cells else { return nil }
    let scalars = Array(text.unicodeScalars)
    let tailCells = cells > 12 ? cells / 3 : 0
    var (tail, tailWidth) = (scalars.count, 0)
    while tail > 0, tailWidth + width(scalars[tail - 1]) <= tailCells {
      tail -= 1
      tailWidth += width(scalars[tail])
    }
    // A mark without its character would join the ellipsis.
    while tail < scalars.count, width(scalars[tail]) == 0 { tail += 1 }
    var (head, headWidth) = (0, 0)
    while head < tail, headWidth + width(scalars[head]) <= cells - 1 - tailWidth {
      headWidth += width(scalars[head])
      head += 1
    }
    return (head, tail..<scalars.count)
  }

  /// Appends blanks up to a number of cells, or shortens the text to it.
  static func padded(_ text: String, to cells: Int) -> String {
    let text = fitted(text, to: cells)
    return text + String(repeating: " ", count: cells - width(text))
  }
}

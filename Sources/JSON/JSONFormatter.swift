/// Formats JSON for people: one member or element in each line, indented by two spaces for each level.
package enum JSONFormatter {
  /// Returns a valid JSON text with line breaks and indentation. A text that is already formatted stays the same.
  package static func format(_ text: [UInt8]) -> [UInt8] {
    var formatted: [UInt8] = []
    formatted.reserveCapacity(text.count * 2)
    var depth = 0
    var isInString = false
    var isEscaped = false
    /// Whether the last token opened an object or array, of which nothing is written yet.
    var isOpened = false
    func breakLine() {
      formatted.append(UInt8(ascii: "\n"))
      formatted.append(contentsOf: repeatElement(UInt8(ascii: " "), count: 2 * depth))
    }
    for byte in text {
      if isInString {
        formatted.append(byte)
        (isInString, isEscaped) = (
          isEscaped || byte != UInt8(ascii: "\""), !isEscaped && byte == UInt8(ascii: "\\")
        )
        continue
      }
      switch byte {
      case UInt8(ascii: " "), UInt8(ascii: "\n"), UInt8(ascii: "\r"), UInt8(ascii: "\t"): continue
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        depth = max(0, depth - 1)
        if !isOpened { breakLine() }
        isOpened = false
      case _ where isOpened:
        breakLine()
        isOpened = false
      default: break
      }
      formatted.append(byte)
      switch byte {
      case UInt8(ascii: "\""): isInString = true
      case UInt8(ascii: "{"), UInt8(ascii: "["):
        depth += 1
        isOpened = true
      case UInt8(ascii: ","): breakLine()
      case UInt8(ascii: ":"): formatted.append(UInt8(ascii: " "))
      default: break
      }
    }
    return formatted
  }
}

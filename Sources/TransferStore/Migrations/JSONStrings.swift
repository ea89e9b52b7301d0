/// The strings of a JSON text, or of event streams with such texts in them, replaced where they stand: all else stays byte
/// for byte.
enum JSONStrings {
  /// - Parameter replace: takes the value as it is written, and the name of the member whose value it is, where that is
  ///   right before it; returns what is to be written instead, or nil.
  /// - Returns: nil where nothing was replaced.
  static func replacing(
    in text: [UInt8], _ replace: (_ value: ArraySlice<UInt8>, _ name: ArraySlice<UInt8>) -> String?
  ) -> [UInt8]? {
    var result: [UInt8] = []
    var copied = 0
    var name = text[..<0]
    var index = 0
    while let open = text[index...].firstIndex(of: UInt8(ascii: "\"")) {
      guard let close = end(ofString: open, in: text) else { break }
      let content = text[(open + 1)..<close]
      index = close + 1
      if index < text.count, text[index] == UInt8(ascii: ":") {
        name = content
        continue
      }
      let isItsValue = name.endIndex + 2 == open
      guard let new = replace(content, isItsValue ? name : []) else { continue }
      result += text[copied...open]
      result += new.utf8
      copied = close
    }
    return copied == 0 ? nil : result + text[copied...]
  }

  /// The quote that ends the string.
  private static func end(ofString open: Int, in text: [UInt8]) -> Int? {
    var index = open + 1
    while index < text.count {
      switch text[index] {
      case UInt8(ascii: "\""): return index
      case UInt8(ascii: "\\"): index += 2
      default: index += 1
      }
    }
    return nil
  }
}

extension StringProtocol {
  /// The text with its ASCII letters in lower case and all else as it is. Names and keywords of HTTP are ASCII (RFC 9110 §5.6.2), and
  /// `lowercased()` takes a hundred times as long for other characters.
  package var lowercasedASCII: String {
    let text = String(self)
    let bytes = text.utf8Span.span
    var (uppercase, all) = (0, UInt8(0))
    for place in bytes.indices {
      let byte = bytes[place]
      uppercase += byte &- UInt8(ascii: "A") < 26 ? 1 : 0
      all |= byte
    }
    guard uppercase > 0 else { return text }
    return all < 0x80
      ? text.lowercased() : String(decoding: Array(text.utf8).map(HTTPHeaders.lowercase), as: UTF8.self)
  }
}

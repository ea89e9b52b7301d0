extension StringProtocol {
  /// The text with its ASCII letters in lower case and all else as it is. Names and keywords of HTTP are ASCII (RFC 9110 §5.6.2), and
  /// `lowercased()` takes a hundred times as long for other characters.
  package var lowercasedASCII: String {
    let text = String(self)
    let bytes = text.utf8Span.span
    var (hasUppercase, isASCII) = (false, true)
    for place in bytes.indices {
      hasUppercase = hasUppercase || bytes[place] &- UInt8(ascii: "A") < 26
      isASCII = isASCII && bytes[place] < 0x80
    }
    guard hasUppercase else { return text }
    return isASCII
      ? text.lowercased() : String(decoding: Array(text.utf8).map(HTTPHeaders.lowercase), as: UTF8.self)
  }
}

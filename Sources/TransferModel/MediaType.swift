/// Media types, as `Content-Type` has them (RFC 9110 §8.3).
enum MediaType {
  /// One valid value of a field, by byte: a server may send a hundred thousand of them.
  private struct Value {
    let text: ArraySlice<UInt8>
    /// Type and subtype.
    let essence: ArraySlice<UInt8>
    var charset: String?
    /// The charset is that of a value before this one.
    var isInherited = false
  }

  /// The type that several fields come to: the last valid one, with the charset of those before it if they are of the same type (Fetch,
  /// "extract a MIME type").
  static func effective(_ fields: [String]) -> String? {
    let isList = fields.count > 1 || fields.first?.utf8.contains(UInt8(ascii: ",")) == true
    guard isList else { return fields.first }
    var last: Value?
    for field in fields {
      // Somebody on the way may have joined them.
      var rest = Array(field.utf8)[...]
      while true {
        let end = HTTPParameters.end(of: rest, at: UInt8(ascii: ","))
        if let value = value(rest[..<end].trimmingBlanks, after: last) { last = value }
        guard end < rest.endIndex else { break }
        rest = rest[(end + 1)...]
      }
    }
    guard let last else { return fields[0] }
    let text = String(decoding: last.text, as: UTF8.self)
    return last.isInherited ? "\(text);charset=\(last.charset ?? "")" : text
  }

  private static let charset = Array("charset".utf8)

  /// Nil if the text is no media type, or is `*/*`.
  private static func value(_ text: ArraySlice<UInt8>, after last: Value?) -> Value? {
    let end = text.firstIndex(of: UInt8(ascii: ";")) ?? text.endIndex
    let essence = text[..<end].trimmingBlanks
    guard let slash = essence.firstIndex(of: UInt8(ascii: "/")), isToken(essence[..<slash]),
      isToken(essence[(slash + 1)...]), !(essence.count == 3 && essence.elementsEqual("*/*".utf8))
    else { return nil }
    var value = Value(text: text, essence: essence)
    value.charset = end < text.endIndex ? HTTPParameters.value(charset, in: text) : nil
    if value.charset == nil, let last, last.charset != nil, HTTPHeaders.areEqual(essence, last.essence) {
      (value.charset, value.isInherited) = (last.charset, true)
    }
    return value
  }

  private static func isToken(_ text: ArraySlice<UInt8>) -> Bool {
    !text.isEmpty && text.allSatisfy(HTTPHeaders.isTokenByte)
  }
}

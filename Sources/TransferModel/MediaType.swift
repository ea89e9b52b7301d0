/// Media types, as `Content-Type` has them (RFC 9110 §8.3).
enum MediaType {
  /// The type that several fields come to: the last valid one, with the charset of those before it if they are of the same type (Fetch,
  /// "extract a MIME type").
  static func effective(_ fields: [String]) -> String? {
    let isList = fields.count > 1 || fields.first?.utf8.contains(UInt8(ascii: ",")) == true
    guard isList else { return fields.first }
    // Somebody on the way may have joined them.
    let values = fields.flatMap { HTTPParameters.split($0, at: ",") }.map(\.trimmingBlanks)
    var type: (text: String, essence: String, charset: String?)?
    for text in values {
      guard let essence = essence(text) else { continue }
      let charset = HTTPParameters.value("charset", in: text)
      let known = essence == type?.essence ? type?.charset : nil
      type = (text, essence, charset ?? known)
      if charset == nil, let known { type?.text = "\(text);charset=\(known)" }
    }
    return type?.text ?? fields[0]
  }

  /// Type and subtype in lower case; nil if the value is no media type, or is `*/*`.
  private static func essence(_ text: String) -> String? {
    let essence = Substring(text.utf8.prefix { $0 != UInt8(ascii: ";") }).trimmingBlanks
    let parts = essence.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    guard parts.count == 2, parts.allSatisfy({ HTTPHeaders.isValid(name: String(Substring($0))) }),
      essence != "*/*"
    else { return nil }
    return essence.lowercased()
  }
}

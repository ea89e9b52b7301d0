// For `String` and `Substring`, but not generic: the compiler does not specialize a generic function for its callers in other targets.
extension String {
  /// The text with its ASCII letters in lower case. Names and keywords of HTTP are ASCII (RFC 9110 §5.6.2), and `lowercased()` takes a
  /// hundred times as long for other characters.
  package var lowercasedASCII: String {
    let bytes = utf8Span.span
    var uppercase = 0
    for place in bytes.indices { uppercase += bytes[place] &- UInt8(ascii: "A") < 26 ? 1 : 0 }
    guard uppercase > 0 else { return self }
    return unsafe String(unsafeUninitializedCapacity: bytes.count) { memory in
      var utf8 = unsafe OutputSpan(buffer: memory, initializedCount: 0)
      for place in bytes.indices { utf8.append(HTTPHeaders.lowercase(bytes[place])) }
      return unsafe utf8.finalize(for: memory)
    }
  }
}

extension Substring {
  /// The text with its ASCII letters in lower case.
  package var lowercasedASCII: String { String(self).lowercasedASCII }
}

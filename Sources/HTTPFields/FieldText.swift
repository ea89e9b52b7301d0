// For `String` and `Substring`, but not generic: the compiler does not specialize a generic function for its callers in other targets.
extension String {
  /// Returns the parts between ASCII separators. Splitting by characters would be much slower, and a combining mark would hide a
  /// separator.
  package func parts(
    between separator: Unicode.Scalar, maxSplits: Int = .max, omittingEmpty: Bool = true
  ) -> [Substring] {
    let bytes = utf8Span.span
    let separator = UInt8(ascii: separator)
    var parts: [Substring] = []
    // Reserve the capacity, because a growing array allocates more than once.
    if maxSplits < 4 { parts.reserveCapacity(maxSplits + 1) }
    var (start, from) = (0, startIndex)
    for place in bytes.indices where bytes[place] == separator && parts.count < maxSplits {
      let to = utf8.index(from, offsetBy: place - start)
      if start < place || !omittingEmpty { parts.append(self[from..<to]) }
      (start, from) = (place + 1, utf8.index(after: to))
    }
    if start < bytes.count || !omittingEmpty { parts.append(self[from...]) }
    return parts
  }

  /// The text without spaces and tabs at both ends.
  package var trimmingBlanks: String {
    let bytes = utf8Span.span
    var (start, end) = (0, bytes.count)
    while start < end, bytes[start] == 0x20 || bytes[start] == 0x09 { start += 1 }
    while end > start, bytes[end - 1] == 0x20 || bytes[end - 1] == 0x09 { end -= 1 }
    guard end - start < bytes.count else { return self }
    let first = utf8.startIndex
    return String(self[utf8.index(first, offsetBy: start)..<utf8.index(first, offsetBy: end)])
  }
}

extension Substring {
  /// Returns the parts between ASCII separators.
  package func parts(
    between separator: Unicode.Scalar, maxSplits: Int = .max, omittingEmpty: Bool = true
  ) -> [Substring] {
    String(self).parts(between: separator, maxSplits: maxSplits, omittingEmpty: omittingEmpty)
  }

  /// The text without spaces and tabs at both ends.
  package var trimmingBlanks: String { String(self).trimmingBlanks }
}

extension Span<UInt8> {
  /// Returns the index of the first such byte in a range, or the range's end.
  package func firstIndex(of byte: UInt8, in range: Range<Int>) -> Int {
    // With the extracted part, the compiler can omit bounds checks.
    let part = extracting(range)
    for place in part.indices where part[place] == byte { return range.lowerBound + place }
    return range.upperBound
  }

  /// Returns the range without spaces and tabs at both ends.
  package func trimmingBlanks(_ range: Range<Int>) -> Range<Int> {
    var (start, end) = (range.lowerBound, range.upperBound)
    while start < end, self[start] == 0x20 || self[start] == 0x09 { start += 1 }
    while end > start, self[end - 1] == 0x20 || self[end - 1] == 0x09 { end -= 1 }
    return start..<end
  }
}

extension ArraySlice<UInt8> {
  /// The bytes without spaces and tabs at both ends.
  package var trimmingBlanks: ArraySlice<UInt8> {
    var (start, end) = (startIndex, endIndex)
    while start < end, self[start] == 0x20 || self[start] == 0x09 { start += 1 }
    while end > start, self[end - 1] == 0x20 || self[end - 1] == 0x09 { end -= 1 }
    return self[start..<end]
  }

  /// Whether two slices are equal, ignoring ASCII case.
  package func isEqual(withoutCase other: ArraySlice<UInt8>) -> Bool {
    guard count == other.count else { return false }
    let distance = other.startIndex - startIndex
    for place in indices
    where HTTPHeaders.lowercase(self[place]) != HTTPHeaders.lowercase(other[place + distance]) {
      return false
    }
    return true
  }
}

extension [UInt8] {
  /// Appends a text. For a short text this is faster than `append(contentsOf:)`.
  package mutating func append(text: String) {
    let bytes = text.utf8Span.span
    for place in bytes.indices { append(bytes[place]) }
  }
}

/// Numbers in decimal digits.
package enum DecimalDigits {
  /// Parses a number; `nil` for an empty text, for a byte that is no digit, or for a number above `most`.
  package static func value(_ digits: borrowing Span<UInt8>, most: Int) -> Int? {
    guard !digits.isEmpty else { return nil }
    var value = 0
    for place in digits.indices {
      let digit = digits[place] &- UInt8(ascii: "0")
      guard digit < 10 else { return nil }
      value = value * 10 + Int(digit)
      guard value <= most else { return nil }
    }
    return value
  }
}

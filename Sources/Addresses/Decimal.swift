/// Numbers as decimal digits.
package enum Decimal {
  /// Nil if a byte is no digit, if there is none, or if the number is more than `most`.
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

internal import JSON

/// Lower-case hexadecimal text, read with digits of either case.
package enum Hexadecimal {
  /// Returns the value of a digit; `nil` for other bytes.
  package static func value(of digit: UInt8) -> UInt8? { hexValue(of: digit) }

  /// Returns the bytes as hexadecimal. A generic version would allocate for each byte of a sequence from another module.
  package static func text(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    text.reserveCapacity(2 * bytes.count)
    for byte in bytes {
      text.append(hexDigit(byte >> 4))
      text.append(hexDigit(byte & 15))
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// Returns the bytes of a text; `nil` if it has an odd number of digits, or another character.
  package static func bytes(_ text: String) -> [UInt8]? {
    var bytes: [UInt8] = []
    var first: UInt8?
    for byte in text.utf8 {
      guard let digit = value(of: byte) else { return nil }
      if let high = first { bytes.append(high << 4 | digit) }
      first = first == nil ? digit : nil
    }
    return first == nil ? bytes : nil
  }
}

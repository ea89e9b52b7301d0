internal import JSON

/// Bytes as lower-case hexadecimal, and digits of either case.
package enum Hexadecimal {
  /// The value of a digit; nil for other bytes.
  package static func value(of digit: UInt8) -> UInt8? {
    switch digit {
    case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
    case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
    case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
    default: nil
    }
  }

  package static func text(_ bytes: [UInt8]) -> String {
    var text: [UInt8] = []
    text.reserveCapacity(2 * bytes.count)
    for byte in bytes {
      text.append(hexDigit(byte >> 4))
      text.append(hexDigit(byte & 15))
    }
    return String(decoding: text, as: UTF8.self)
  }
}

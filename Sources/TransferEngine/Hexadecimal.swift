/// Bytes as lower-case hexadecimal.
package enum Hexadecimal {
  package static func text(_ bytes: some Sequence<UInt8>) -> String {
    var text: [UInt8] = []
    text.reserveCapacity(64)
    for byte in bytes {
      for digit in [byte >> 4, byte & 15] { text.append(digit < 10 ? 48 + digit : 87 + digit) }
    }
    return String(decoding: text, as: UTF8.self)
  }
}

/// Base64 (RFC 4648 §4).
package enum Base64 {
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
  private static let alphabetForURL = Array(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

  package static func encode(_ bytes: some Collection<UInt8>) -> String {
    encode(Array(bytes), alphabet, isPadded: true)
  }

  /// Returns `nil` if the text is not padded base64.
  package static func decode(_ text: some StringProtocol) -> [UInt8]? {
    let text = Array(text.utf8)
    guard text.count.isMultiple(of: 4) else { return nil }
    let padding = text.reversed().prefix { $0 == UInt8(ascii: "=") }.count
    guard padding <= 2 else { return nil }
    return decode(text[..<(text.count - padding)], alphabet)
  }

  /// base64url without padding (RFC 4648 §5).
  package static func encodeForURL(_ bytes: some Collection<UInt8>) -> String {
    encode(Array(bytes), alphabetForURL, isPadded: false)
  }

  /// Returns `nil` if the text is not base64url without padding.
  package static func decodeForURL(_ text: String) -> [UInt8]? {
    let text = Array(text.utf8)
    guard text.count % 4 != 1 else { return nil }
    return decode(text[...], alphabetForURL)
  }

  // These functions are not generic, because the ledger encodes thousands of commands for the worker.

  private static func encode(_ bytes: [UInt8], _ alphabet: [UInt8], isPadded: Bool) -> String {
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count + 2) / 3 * 4)
    var index = 0
    while index < bytes.count {
      let count = min(3, bytes.count - index)
      var word = UInt32(bytes[index]) << 16
      if count > 1 { word |= UInt32(bytes[index + 1]) << 8 }
      if count > 2 { word |= UInt32(bytes[index + 2]) }
      text.append(alphabet[Int(word >> 18)])
      text.append(alphabet[Int(word >> 12 & 63)])
      if count > 1 { text.append(alphabet[Int(word >> 6 & 63)]) }
      if count > 2 { text.append(alphabet[Int(word & 63)]) }
      index += count
    }
    while isPadded, !text.count.isMultiple(of: 4) { text.append(UInt8(ascii: "=")) }
    return String(decoding: text, as: UTF8.self)
  }

  private static func decode(_ text: ArraySlice<UInt8>, _ alphabet: [UInt8]) -> [UInt8]? {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.count / 4 * 3 + 2)
    var (word, bits) = (UInt32(0), 0)
    for byte in text {
      let digit: UInt8
      switch byte {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"): digit = byte - 65
      case UInt8(ascii: "a")...UInt8(ascii: "z"): digit = byte - 71
      case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = byte + 4
      case alphabet[62]: digit = 62
      case alphabet[63]: digit = 63
      default: return nil
      }
      word = word << 6 | UInt32(digit)
      bits += 6
      guard bits >= 8 else { continue }
      bits -= 8
      bytes.append(UInt8(truncatingIfNeeded: word >> UInt32(bits)))
    }
    return bytes
  }
}

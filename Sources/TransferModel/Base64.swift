/// Base64 (RFC 4648 §4).
package enum Base64 {
  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  package static func encode(_ bytes: some Collection<UInt8>) -> String {
    var text: [UInt8] = []
    text.reserveCapacity((bytes.count + 2) / 3 * 4)
    var rest = bytes[...]
    while !rest.isEmpty {
      let group = rest.prefix(3)
      rest = rest.dropFirst(3)
      var word: UInt32 = 0
      for byte in group { word = word << 8 | UInt32(byte) }
      word <<= UInt32(8 * (3 - group.count))
      for index in 0..<4 {
        let digit = Int(word >> UInt32(18 - 6 * index)) & 63
        text.append(index <= group.count ? alphabet[digit] : UInt8(ascii: "="))
      }
    }
    return String(decoding: text, as: UTF8.self)
  }

  /// Nil where the text is not padded base64.
  package static func decode(_ text: some StringProtocol) -> [UInt8]? {
    let utf8 = Array(text.utf8)
    guard utf8.count.isMultiple(of: 4) else { return nil }
    let padding = utf8.reversed().prefix { $0 == UInt8(ascii: "=") }.count
    guard padding <= 2 else { return nil }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(utf8.count / 4 * 3)
    var word: UInt32 = 0
    for (index, byte) in utf8.enumerated() {
      let digit: UInt32
      switch byte {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"): digit = UInt32(byte) - 65
      case UInt8(ascii: "a")...UInt8(ascii: "z"): digit = UInt32(byte) - 71
      case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = UInt32(byte) + 4
      case UInt8(ascii: "+"): digit = 62
      case UInt8(ascii: "/"): digit = 63
      case UInt8(ascii: "=") where index >= utf8.count - padding: digit = 0
      default: return nil
      }
      word = word << 6 | digit
      if index & 3 == 3 {
        bytes += [
          UInt8(truncatingIfNeeded: word >> 16), UInt8(truncatingIfNeeded: word >> 8),
          UInt8(truncatingIfNeeded: word),
        ]
        word = 0
      }
    }
    bytes.removeLast(min(padding, bytes.count))
    return bytes
  }
}

extension Base64 {
  /// base64url without padding (RFC 4648 §5).
  package static func encodeForURL(_ bytes: some Collection<UInt8>) -> String {
    String(
      decoding: encode(bytes).utf8.filter { $0 != UInt8(ascii: "=") }.map { byte in
        switch byte {
        case UInt8(ascii: "+"): UInt8(ascii: "-")
        case UInt8(ascii: "/"): UInt8(ascii: "_")
        default: byte
        }
      }, as: UTF8.self)
  }

  /// Nil where the text is not base64url without padding.
  package static func decodeForURL(_ text: String) -> [UInt8]? {
    guard !text.utf8.contains(where: { "+/=".utf8.contains($0) }) else { return nil }
    let padding = String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
    let plain = text.map { $0 == "-" ? "+" : $0 == "_" ? "/" : String($0) }.joined()
    return decode(plain + padding)
  }
}

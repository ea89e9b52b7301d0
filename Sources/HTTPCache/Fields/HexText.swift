internal import JSON

/// Bytes as lower-case hexadecimal.
enum HexText {
  static func of(_ bytes: some Sequence<UInt8>) -> String {
    String(decoding: bytes.flatMap { [hexDigit($0 >> 4), hexDigit($0 & 15)] }, as: UTF8.self)
  }

  /// A name that nothing else has.
  static func random() -> String { of((0..<16).map { _ in UInt8.random(in: .min ... .max) }) }

  static func isName(_ text: String) -> Bool {
    text.utf8.count == 32
      && text.utf8.allSatisfy { $0 &- UInt8(ascii: "0") < 10 || $0 &- UInt8(ascii: "a") < 6 }
  }
}

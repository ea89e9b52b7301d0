import TestSupport
import Testing

@testable import TransferModel

@Suite struct Base64Tests {
  /// RFC 4648 §10, and both digits that differ between the alphabets.
  @Test(arguments: [
    ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
    ("foobar", "Zm9vYmFy"), (">>>???", "Pj4+Pz8/"),
  ])
  func `text matches the vectors of the RFC`(_ plain: String, _ encoded: String) {
    #expect(Base64.encode(Array(plain.utf8)) == encoded)
    #expect(Base64.decode(encoded) == Array(plain.utf8))
  }

  @Test(arguments: [
    "Z", "Zg", "Zg=", "Zm8", "Zm9vY", "=", "==", "===", "====", "Z===", "Zg==Zg==", "Z=g=", "=Zg=", "Zm=v",
    "Zm9v=",
    "Zm9v====", "Zm9-", "Zm9_", "Zm 9", "Zm9\n", "Zm9v\n", "Zg==\n", "é===", "Zmé=", "Zm9v Zm9v",
    "Zm9v\0\0\0\0",
  ])
  func `invalid base64 is refused`(_ text: String) { #expect(Base64.decode(text) == nil) }

  @Test(arguments: ["Z", "Zg==", "Zm8=", "Zm9v+", "Zm9v/", "Zm 9", "Zm9\n", "é", "Zm9vZ"])
  func `invalid base64url is refused`(_ text: String) { #expect(Base64.decodeForURL(text) == nil) }

  @Test func randomBytesRoundTrip() throws {
    var generator = SplitMix64(seed: 21)
    for count in 0..<400 {
      let bytes = (0..<count).map { _ in UInt8(truncatingIfNeeded: generator.next()) }
      let text = Base64.encode(bytes)
      try #require(text.utf8.count == (count + 2) / 3 * 4)
      try #require(Base64.decode(text) == bytes)
      try #require(Base64.encode(bytes[...]) == text)
      try #require(Base64.decode(text[...]) == bytes)
      let forURL = Base64.encodeForURL(bytes)
      try #require(
        forURL == text.replacing("=", with: "").replacing("+", with: "-").replacing("/", with: "_"))
      try #require(Base64.decodeForURL(forURL) == bytes)
    }
  }
}

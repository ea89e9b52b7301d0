import Crypto
import JSON
import Testing

@testable import TransferStore

@Suite struct SecretBoxTests {
  private static func key(_ byte: UInt8) -> SymmetricKey {
    SymmetricKey(data: [UInt8](repeating: byte, count: 32))
  }
  private let box = SecretBox(secrets: [key(1)])

  @Test(arguments: ["", "x.", "pass wörd\n", String(repeating: "a", count: 10_000)])
  func whatIsSealedComesBack(_ text: String) {
    let sealed = box.seal(text)
    #expect(sealed.hasPrefix("sealed:") && (text.count < 4 || !sealed.contains(text)))
    #expect(box.open(sealed) == text)
    #expect(box.seal(text) != sealed, "each time with another nonce")
  }

  @Test func whatIsNotSealedIsItself() { #expect(box.open("plain") == "plain") }

  @Test func aChangedByteOpensNothing() {
    let sealed = Array(box.seal("secret").utf8)
    for index in sealed.indices.dropFirst(7) {
      var changed = sealed
      changed[index] = changed[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
      #expect(box.open(String(decoding: changed, as: UTF8.self)) != "secret" || index == sealed.count - 1)
    }
    for bad in ["sealed:", "sealed:!", "sealed:AAAA", "sealed:AAAAAAAA"] { #expect(box.open(bad) == nil) }
  }

  @Test func anotherKeyOpensNothingAndAnOldOneDoes() {
    let sealed = box.seal("secret")
    #expect(SecretBox(secrets: [Self.key(2)]).open(sealed) == nil)
    #expect(SecretBox(secrets: [Self.key(2), Self.key(1)]).open(sealed) == "secret")
  }

  @Test func documentsAreSealedAnew() throws {
    let both = SecretBox(secrets: [Self.key(2), Self.key(1)])
    let text = #"{"a":"\#(box.seal("one"))","b":"plain","c":["\#(box.seal("two"))"],"d": 1.50}"#
    let resealed = String(decoding: try #require(both.reseal(document: Array(text.utf8))), as: UTF8.self)
    let new = SecretBox(secrets: [Self.key(2)])
    #expect(
      resealed != text && resealed.contains(#","b":"plain","c":["#) && resealed.hasSuffix(#"],"d": 1.50}"#))
    let opened = new.open(try JSONParser.parse(Array(resealed.utf8)))
    #expect(opened["a"]?.string == "one" && opened["c"]?.elements == [.string("two")])
    #expect(
      new.reseal(document: Array(resealed.utf8)) != nil && box.reseal(document: Array(resealed.utf8)) == nil)
    #expect(new.reseal(document: Array(text.utf8)) == nil, "what has no key stays")
  }

  /// What users and origins write.
  @Test(arguments: [
    "sealed:", "sealed:x", "my sealed:AAAA", "sealed:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    #"\"sealed:AAAA\""#, #"\\"#, "", "sealed:\\u0041AAA",
  ])
  func whatOnlyLooksSealedStays(_ text: String) {
    for document in [#"{"a":"\#(text)"}"#, #"{"\#(text)":1}"#, #"["\#(text)","\#(text)"]"#] {
      #expect(box.reseal(document: Array(document.utf8)) == nil)
      let with = document.dropLast() + (document.hasPrefix("[") ? "" : #","b":"#)
      let mixed = with + (document.hasPrefix("[") ? "," : "") + #""\#(box.seal("secret"))""#
      let resealed = box.reseal(document: Array(mixed.utf8))
      #expect(resealed?.starts(with: with.utf8) == true && resealed?.count == mixed.utf8.count)
    }
  }
}

import Crypto
import Testing

@testable import TransferStore

@Suite struct SecretBoxTests {
  private static func key(_ byte: UInt8) -> SymmetricKey {
    SymmetricKey(data: [UInt8](repeating: byte, count: 32))
  }
  private let box = SecretBox(secrets: [key(1)])

  @Test(arguments: ["", "x", "pass wörd\n", String(repeating: "a", count: 10_000)])
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
    let text = #"{"a":"\#(box.seal("one"))","b":"plain","c":["\#(box.seal("two"))"]}"#
    let resealed = try #require(both.reseal(text))
    let new = SecretBox(secrets: [Self.key(2)])
    #expect(resealed != text && resealed.contains(#""b":"plain""#))
    #expect(new.reseal(resealed) != nil && box.reseal(resealed) == nil)
    #expect(new.reseal(text) == nil, "a key that is not there is no reason to lose anything")
    #expect(new.reseal("nothing in it") == "nothing in it")
  }
}

import Crypto
import Testing

@testable import Records

@Suite(.serialized) struct SecretBoxTests {
  private static let outcome = DocumentKind("task.outcome", compressionLimit: DocumentKind.maximumSize)
  private static let specification = DocumentKind(
    "task.specification", compressionLimit: DocumentKind.maximumSize)
  private static let body = DocumentKind("task.small_body", compressionLimit: 0)

  private static func key(_ byte: UInt8) -> SymmetricKey {
    SymmetricKey(data: [UInt8](repeating: byte, count: 32))
  }
  private let box = SecretBox(secrets: [key(1)])

  @Test(arguments: ["", "x.", "pass wörd\n", String(repeating: "a", count: 10_000)])
  func `sealed text opens unchanged`(_ text: String) {
    let sealed = box.seal(text)
    #expect(sealed.hasPrefix("sealed:") && (text.count < 4 || !sealed.contains(text)))
    #expect(box.open(sealed) == text)
    #expect(box.seal(text) != sealed, "each seal has a new nonce")
  }

  @Test func `plain text does not open`() { #expect(box.open("plain") == nil) }

  @Test func `changed sealed text does not open`() {
    let sealed = Array(box.seal("secret").utf8)
    for index in sealed.indices.dropFirst(7) {
      var changed = sealed
      changed[index] = changed[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
      #expect(box.open(String(decoding: changed, as: UTF8.self)) != "secret" || index == sealed.count - 1)
    }
    for bad in ["sealed:", "sealed:!", "sealed:AAAA", "sealed:AAAAAAAA"] { #expect(box.open(bad) == nil) }
  }

  @Test func `sealed text opens with an old key but not with another`() {
    let sealed = box.seal("secret")
    #expect(SecretBox(secrets: [Self.key(2)]).open(sealed) == nil)
    #expect(SecretBox(secrets: [Self.key(2), Self.key(1)]).open(sealed) == "secret")
  }

  private func fault(_ sealed: [UInt8], _ box: SecretBox, _ kind: DocumentKind) -> SecretBox.Fault? {
    do throws(SecretBox.Fault) { _ = try box.open(sealed, as: kind) } catch { return error }
    return nil
  }

  @Test(arguments: [0, 1, 16, 5000]) func `document opens only as its own kind`(_ size: Int) throws {
    let document = [UInt8](repeating: 7, count: size)
    let sealed = box.seal(document, as: Self.outcome)
    let isCompressed = size > 100
    #expect(sealed[0] == (isCompressed ? 2 : 1) && sealed != box.seal(document, as: Self.outcome))
    #expect(isCompressed ? sealed.count < size / 10 : sealed.count == size + 33)
    #expect(try box.open(sealed, as: Self.outcome) == document)
    // The document does not open as another kind or after a change.
    #expect(fault(sealed, box, Self.specification) == .changed)
    for index in [5, 20, sealed.count - 1] {
      var changed = sealed
      changed[index] ^= 1
      #expect(fault(changed, box, Self.outcome) == .changed)
    }
    for format: UInt8 in 1...2 where format != sealed[0] {
      #expect(fault([format] + sealed.dropFirst(), box, Self.outcome) == .changed)
    }
    #expect(fault([3] + sealed.dropFirst(), box, Self.outcome) == .unknownFormat)
    #expect(fault([], box, Self.outcome) == .unknownFormat)
    #expect(fault(sealed, SecretBox(secrets: [Self.key(2)]), Self.outcome) == .unknownKey)
    #expect(try SecretBox(secrets: [Self.key(2), Self.key(1)]).open(sealed, as: Self.outcome) == document)
    for length in 0..<min(sealed.count, 40) {
      #expect(fault(Array(sealed[..<length]), box, Self.outcome) != nil)
    }
  }

  @Test(arguments: [DocumentKind.maximumSize, 500, 499, 0])
  func `documents above the compression limit of their kind are sealed uncompressed`(_ limit: Int) throws {
    let kind = DocumentKind("a", compressionLimit: limit)
    let document = [UInt8](repeating: 7, count: 500)
    let sealed = box.seal(document, as: kind)
    #expect(sealed[0] == (limit < 500 ? 1 : 2))
    #expect(try box.open(sealed, as: kind) == document)
  }

  @Test func `a document that decompresses beyond the limit of its kind is refused`() throws {
    let document = [UInt8](repeating: 7, count: 1 << 20)
    let sealed = box.seal(document, as: DocumentKind("a", compressionLimit: 1 << 20))
    #expect(sealed.count < 1000)
    #expect(fault(sealed, box, DocumentKind("a", compressionLimit: (1 << 20) - 1)) == .changed)
    #expect(fault(sealed, box, DocumentKind("a", compressionLimit: 0)) == .changed)
    #expect(try box.open(sealed, as: DocumentKind("a", compressionLimit: 1 << 20)) == document)
  }

  @Test func `a kind that is not compressed opens as no other`() throws {
    let document = [UInt8](repeating: 7, count: 500)
    let sealed = box.seal(document, as: Self.body)
    #expect(sealed.count == document.count + 33)
    #expect(fault(sealed, box, Self.outcome) == .changed && fault(sealed, box, .resumeData) == .changed)
    #expect(try box.open(sealed, as: Self.body) == document)
  }

  @Test func `the naming key is that of the key that sealed the text`() {
    let (old, both) = (SecretBox(secrets: [Self.key(1)]), SecretBox(secrets: [Self.key(2), Self.key(1)]))
    let new = SecretBox(secrets: [Self.key(2)])
    #expect(both.namingKey == new.namingKey && new.namingKey != old.namingKey)
    #expect(both.withBlindIndexKey(asIn: old.seal("x")).namingKey == old.namingKey)
    #expect(both.withBlindIndexKey(asIn: new.seal("x")).namingKey == new.namingKey)
    #expect(both.withBlindIndexKey(asIn: "garbage").namingKey == new.namingKey)
    let sealed = both.withBlindIndexKey(asIn: old.seal("x")).seal("x")
    #expect(old.open(sealed) == nil && new.open(sealed) == "x", "the first key still seals")
  }
}

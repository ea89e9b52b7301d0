import Crypto
import JSON
import Ledger
import Testing

@testable import SQLiteLedger

@Suite(.serialized) struct SecretBoxTests {
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

  @Test func whatIsNotSealedIsRefused() { #expect(box.open("plain") == nil) }

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

  private func fault(_ sealed: [UInt8], _ box: SecretBox, _ kind: DocumentKind) -> SecretBox.Fault? {
    do throws(SecretBox.Fault) { _ = try box.open(sealed, as: kind) } catch { return error }
    return nil
  }

  @Test(arguments: [0, 1, 16, 5000]) func aDocumentIsSealedAsAWhole(_ size: Int) throws {
    let document = [UInt8](repeating: 7, count: size)
    let sealed = box.seal(document, as: .outcome)
    let isCompressed = size > 100
    #expect(sealed[0] == (isCompressed ? 2 : 1) && sealed != box.seal(document, as: .outcome))
    #expect(isCompressed ? sealed.count < size / 10 : sealed.count == size + 33)
    #expect(try box.open(sealed, as: .outcome) == document)
    // It does not stand for another, and no bit of it can be another.
    #expect(fault(sealed, box, .specification) == .changed)
    for index in [5, 20, sealed.count - 1] {
      var changed = sealed
      changed[index] ^= 1
      #expect(fault(changed, box, .outcome) == .changed)
    }
    for format: UInt8 in 1...2 where format != sealed[0] {
      #expect(fault([format] + sealed.dropFirst(), box, .outcome) == .changed)
    }
    #expect(fault([3] + sealed.dropFirst(), box, .outcome) == .unknownFormat)
    #expect(fault([], box, .outcome) == .unknownFormat)
    #expect(fault(sealed, SecretBox(secrets: [Self.key(2)]), .outcome) == .unknownKey)
    #expect(try SecretBox(secrets: [Self.key(2), Self.key(1)]).open(sealed, as: .outcome) == document)
    for length in 0..<min(sealed.count, 40) { #expect(fault(Array(sealed[..<length]), box, .outcome) != nil) }
  }

  @Test func noNonceComesAgain() {
    for first in [0, UInt32.max - 2] {
      let nonces = NonceSequence(from: first)
      let all = (0..<5).map { _ in nonces.next() }
      #expect(Set(all).count == 5 && all.allSatisfy { $0.count == 12 })
      let prefixes = Set(all.map { Array($0[..<8]) })
      #expect(prefixes.count == (first == 0 ? 1 : 2))
    }
    let others = [NonceSequence(), NonceSequence()].map { $0.next() }
    #expect(others[0] != others[1])
  }
}

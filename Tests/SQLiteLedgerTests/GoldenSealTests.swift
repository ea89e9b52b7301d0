import Crypto
import Foundation
import GRDB
import HTTPCookies
import KeyDerivation
import Ledger
import TestSupport
import Testing
import TransferModel

@testable import Records
@testable import SQLiteLedger

/// How rows are named and sealed is the same for ever, as what stands in them is: a row is found again by its name, and opened with
/// the key.
@Suite(.serialized) struct GoldenSealTests {
  private let samples = GoldenSamples()
  private static let secret = SymmetricKey(data: [UInt8](repeating: 7, count: 32))

  /// What is made of values to name rows.
  @Test func namesOfRowsAreMadeAsTheyWere() throws {
    let host = CookieKey(domain: "a.test", isHostOnly: true, path: "/p", name: "n")
    let lines = [
      StoredCredential.key(samples.credential.space), StoredCredential.key(samples.certificate.space),
      samples.cookie.key.stored, host.stored,
    ]
    try Golden.expect(lines.map { $0 + "\n" }.joined(), is: "store/names")
  }

  /// The keyed hashes that stand in rows for such texts.
  @Test func hashesOfNamesAreMadeAsTheyWere() throws {
    let (names, session) = (GoldenSamples.box.names, samples.session.id)
    let hashes = [
      names.name(samples.credential.space, of: session), names.name(samples.cookie.key, of: session),
      names.name(samples.reply.key), names.name(samples.named.name),
    ]
    #expect(Set(hashes).count == 4 && hashes.allSatisfy { $0.count == 16 })
    try Golden.expect(hashes.map { Hexadecimal.text($0) + "\n" }.joined(), is: "store/hashes")
    // The same text of another owner, or in another table, is another name.
    let text = "golden"
    let all = [
      names.name(IdempotencyKey(tenant: .default, text: text)),
      names.name(IdempotencyKey(tenant: Tenant(name: "t1"), text: text)),
      names.name(ConfigurationName(tenant: .default, text: text)),
      names.name(samples.cookie.key, of: session), names.name(samples.cookie.key, of: .shared),
    ]
    #expect(Set(all).count == all.count)
  }

  /// Digests are the same under the same key: what was asked under an Idempotency-Key is known again.
  @Test func fingerprintsAreMadeAsTheyWere() throws {
    let digests = GoldenSamples.box.requests.digests(of: Array("golden".utf8))
    try Golden.expect(digests.map { Base64.encode($0) + "\n" }.joined(), is: "store/fingerprint")
  }

  /// Whole documents, one of each kind, by OpenSSL's own hand: format, mark of the key, nonce, ciphertext and tag.
  @Test(arguments: SealedDocument.allCases) func sealedDocumentsAreOpened(_ column: SealedDocument) throws {
    let line = try #require(try Golden.lines("store/sealed").first { $0.hasPrefix(column.name + " ") })
    let sealed = try #require(Base64.decode(String(line.dropFirst(column.name.count + 1))))
    #expect(try GoldenSamples.box.open(sealed, as: column.kind) == Array("golden".utf8))
    // With that nonce, it would be sealed like that now.
    let head = Array(sealed[..<5])
    let again = DocumentCipher(Self.secret.derived(for: "ferry stored secrets 1")).seal(
      Array("golden".utf8), nonce: Array(sealed[5..<17]), authenticating: [1] + Array(column.name.utf8),
      behind: head)
    #expect(again == sealed)
    let fresh = GoldenSamples.box.seal(Array("golden".utf8), as: column.kind)
    #expect(fresh[..<5].elementsEqual(head) && fresh.count == sealed.count)
  }

  /// A document that says what others say is compressed, whatever it is; it is opened as one of its kind and no other.
  @Test(arguments: SealedDocument.allCases) func documentsAreCompressed(_ column: SealedDocument) throws {
    let document = try Golden.bytes("store/1/task.outcome")
    let sealed = GoldenSamples.box.seal(document, as: column.kind)
    #expect(sealed[0] == (column.isCompressed ? 2 : 1))
    #expect(!column.isCompressed || sealed.count < document.count * 3 / 4)
    #expect(try GoldenSamples.box.open(sealed, as: column.kind) == document)
    let other: SealedDocument = column == .metrics ? .outcome : .metrics
    for kind in [other.kind, .resumeData] {
      #expect(throws: (any Error).self) { try GoldenSamples.box.open(sealed, as: kind) }
    }
    for index in [0, 1, 30, sealed.count - 1] {
      var changed = sealed
      changed[index] ^= 3
      #expect(throws: (any Error).self) { try GoldenSamples.box.open(changed, as: column.kind) }
    }
  }

  /// Compressed ones, one of each kind, as they were sealed.
  @Test(arguments: SealedDocument.allCases.filter(\.isCompressed))
  func compressedDocumentsAreOpened(_ column: SealedDocument) throws {
    let document = try Golden.bytes("store/1/task.outcome")
    let line = try Golden.lines("store/compressed").first { $0.hasPrefix(column.name + " ") }
    let fresh = Base64.encode(GoldenSamples.box.seal(document, as: column.kind))
    let text = try #require(line, "it lacks: \(column.name) \(fresh)")
    let sealed = try #require(Base64.decode(String(text.dropFirst(column.name.count + 1))))
    #expect(try GoldenSamples.box.open(sealed, as: column.kind) == document)
  }

  @Test func sealedTextsAreOpened() throws {
    let line = try #require(try Golden.lines("store/sealed").first { $0.hasPrefix(SecretBox.prefix) })
    #expect(GoldenSamples.box.open(line) == "golden")
    let fresh = GoldenSamples.box.seal("golden")
    // The mark of the key is in both.
    let start = SecretBox.prefix.count + 5
    #expect(fresh.prefix(start) == line.prefix(start) && fresh.count == line.count)
  }

  @Test func everySealHasItsGoldenOne() throws {
    let names = try Golden.lines("store/sealed").map { $0.prefix { $0 != " " && $0 != ":" } }
    #expect(names.map(String.init) == SealedDocument.allCases.map(\.name) + ["sealed"])
  }

  @Test func nothingElseIsInTheFolder() throws {
    #expect(
      try Golden.names(in: "store")
        == Set(["1", "names", "hashes", "fingerprint", "sealed", "compressed"] + GoldenDatabaseTests.names))
  }
}

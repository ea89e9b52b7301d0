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

/// Checks that keys, hashes and seals of rows never change. Otherwise stored rows could not be found or opened.
@Suite(.serialized) struct GoldenSealTests {
  private let samples = GoldenSamples()
  private static let secret = SymmetricKey(data: [UInt8](repeating: 7, count: 32))

  /// The texts from which the hashes of rows are computed.
  @Test func `texts of row hashes never change`() throws {
    let host = CookieKey(domain: "a.test", isHostOnly: true, path: "/p", name: "n")
    let lines = [
      StoredCredential.key(samples.credential.space), StoredCredential.key(samples.certificate.space),
      samples.cookie.key.stored, host.stored,
    ]
    try GoldenFiles.expect(lines.map { $0 + "\n" }.joined(), is: "store/names")
  }

  @Test func `hashes of rows never change`() throws {
    let (names, session) = (GoldenSamples.box.names, samples.session.id)
    let hashes = [
      names.name(samples.credential.space, of: session), names.name(samples.cookie.key, of: session),
      names.name(samples.reply.key), names.name(samples.named.name),
    ]
    #expect(Set(hashes).count == 4 && hashes.allSatisfy { $0.count == 16 })
    try GoldenFiles.expect(hashes.map { Hexadecimal.text($0) + "\n" }.joined(), is: "store/hashes")
    // Another owner or table gives another hash for the same text.
    let text = "golden"
    let all = [
      names.name(IdempotencyKey(tenant: .default, text: text)),
      names.name(IdempotencyKey(tenant: Tenant(name: "t1"), text: text)),
      names.name(ConfigurationName(tenant: .default, text: text)),
      names.name(samples.cookie.key, of: session), names.name(samples.cookie.key, of: .shared),
    ]
    #expect(Set(all).count == all.count)
  }

  /// A repeated request under an Idempotency-Key is recognised by its digest.
  @Test func `digests of requests never change`() throws {
    let digests = GoldenSamples.box.requests.digests(of: Array("golden".utf8))
    try GoldenFiles.expect(digests.map { Base64.encode($0) + "\n" }.joined(), is: "store/fingerprint")
  }

  /// Opens whole documents, one of each kind, that consist of format, key mark, nonce, ciphertext and tag.
  @Test(arguments: SealedDocument.allCases) func `golden document opens`(_ column: SealedDocument) throws {
    let line = try #require(try GoldenFiles.lines("store/sealed").first { $0.hasPrefix(column.name + " ") })
    let sealed = try #require(Base64.decode(String(line.dropFirst(column.name.count + 1))))
    #expect(try GoldenSamples.box.open(sealed, as: column.kind) == Array("golden".utf8))
    // The same nonce gives the same sealed document today.
    let head = Array(sealed[..<5])
    let again = DocumentCipher(Self.secret.derived(for: "ferry stored secrets 1")).seal(
      Array("golden".utf8), nonce: Array(sealed[5..<17]), authenticating: [1] + Array(column.name.utf8),
      behind: head)
    #expect(again == sealed)
    let fresh = GoldenSamples.box.seal(Array("golden".utf8), as: column.kind)
    #expect(fresh[..<5].elementsEqual(head) && fresh.count == sealed.count)
  }

  /// A document with common text is compressed, and opens only as its own kind.
  @Test(arguments: SealedDocument.allCases) func `document is compressed`(_ column: SealedDocument) throws {
    let document = try GoldenFiles.bytes("store/1/task.outcome")
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

  @Test(arguments: SealedDocument.allCases.filter(\.isCompressed))
  func `golden compressed document opens`(_ column: SealedDocument) throws {
    let document = try GoldenFiles.bytes("store/1/task.outcome")
    let line = try GoldenFiles.lines("store/compressed").first { $0.hasPrefix(column.name + " ") }
    let fresh = Base64.encode(GoldenSamples.box.seal(document, as: column.kind))
    let text = try #require(line, "the golden file store/compressed lacks this line: \(column.name) \(fresh)")
    let sealed = try #require(Base64.decode(String(text.dropFirst(column.name.count + 1))))
    #expect(try GoldenSamples.box.open(sealed, as: column.kind) == document)
  }

  @Test func `golden sealed text opens`() throws {
    let line = try #require(try GoldenFiles.lines("store/sealed").first { $0.hasPrefix(SecretBox.prefix) })
    #expect(GoldenSamples.box.open(line) == "golden")
    let fresh = GoldenSamples.box.seal("golden")
    // Both contain the key mark.
    let start = SecretBox.prefix.count + 5
    #expect(fresh.prefix(start) == line.prefix(start) && fresh.count == line.count)
  }

  @Test func `every seal has a golden document`() throws {
    let names = try GoldenFiles.lines("store/sealed").map { $0.prefix { $0 != " " && $0 != ":" } }
    #expect(names.map(String.init) == SealedDocument.allCases.map(\.name) + ["sealed"])
  }

  @Test func `folder has no other files`() throws {
    #expect(
      try GoldenFiles.names(in: "store")
        == Set(["1", "names", "hashes", "fingerprint", "sealed", "compressed"] + GoldenDatabaseTests.names))
  }
}

import Crypto
import Foundation
import Ledger
import Records
import TestSupport
import Testing
import TransferModel
import TransferService

@testable import SQLiteLedger

@Suite struct IdempotencyKeysTests {
  private static let time = Timestamp(seconds: 1_800_000_000)
  private let path = TemporaryDirectory.make("ferry-idempotency") + "/test.db"
  private let digest = Array(SHA256.hash(data: Array("POST /v1/sessions\n{}".utf8)))

  private func open(_ keys: UInt8...) throws -> SQLiteLedger {
    let secrets = keys.map { SymmetricKey(data: [UInt8](repeating: $0, count: 32)) }
    return try SQLiteLedger(path: path, box: SecretBox(secrets: secrets)) { _ in }
  }

  private func admit(
    _ digest: [UInt8], _ store: SQLiteLedger, of tenant: Tenant = .default
  ) async throws -> IdempotentReply? {
    let keys = IdempotencyKeys(store: store) { Self.time }
    switch try await keys.admit(IdempotencyKey(tenant: tenant, text: "k"), digest: digest) {
    case .fresh: return nil
    case .replay(let reply): return reply
    }
  }

  @Test func `request is recognised after key rotation, and its digest is not stored`() async throws {
    let first = try open(1)
    #expect(try await admit(digest, first) == nil)
    let reply = IdempotentReply(
      key: IdempotencyKey(tenant: .default, text: "k"), digest: digest,
      status: 201, contentType: "a/b",
      location: nil,
      body: [1], createdAt: Self.time)
    var change = LedgerChange()
    change.answer(reply)
    try await first.write(change)
    let fingerprint = try #require(try await first.storedReply(reply.key)).fingerprint
    #expect(fingerprint != digest && fingerprint.count == 32)
    #expect(try await admit(digest, first) == reply)
    // Another tenant's key with the same text is a different key.
    #expect(try await admit(digest, first, of: Tenant(name: "t")) == nil)
    await first.close()
    let second = try open(2, 1)
    #expect(try await admit(digest, second) == reply)
    await #expect(throws: ServiceError.self) { try await admit(digest.reversed(), second) }
    let keys = IdempotencyKeys(store: second) { Self.time }
    var later = reply
    (later.status, later.body) = (200, [2])
    await keys.replace(later, of: .shared)
    #expect(try await admit(digest, second) == later, "an immediate repeat gets the later reply")
    let renewed = try #require(try await second.storedReply(reply.key)).fingerprint
    #expect(renewed != fingerprint && renewed != digest && renewed.count == 32)
    await second.close()
    #expect(throws: OpeningError.otherKey) { try open(3) }
  }
}

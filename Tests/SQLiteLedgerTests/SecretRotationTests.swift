import Crypto
import Foundation
import HTTPFields
import Ledger
import Records
import TestSupport
import Testing
import TransferModel

@testable import SQLiteLedger

@Suite(.serialized) struct SecretRotationTests {
  private let path = TemporaryDirectory.make("ferry-rotation") + "/test.db"

  private struct NoDisk: Error {}

  private static func box(_ keys: UInt8...) -> SecretBox {
    SecretBox(secrets: keys.map { SymmetricKey(data: [UInt8](repeating: $0, count: 32)) })
  }

  private static let task: TransferTask = {
    let secret = HTTPHeaders.Field(name: "Authorization", value: "sealed:Bearer")
    var specification = TaskSpecification(
      kind: .data, request: TransferRequest(url: "http://a/?q=sealed:AAAA", headers: HTTPHeaders([secret])))
    specification.description =
      "sealed:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA, sealed: \"x\""
    specification.completion = Webhook(url: "http://a/hook", secret: "whsec_x")
    return TransferTask(
      id: TaskID(high: 1, low: 1), sessionID: .shared, taskIdentifier: 1, createdAt: Timestamp(seconds: 1),
      specification: specification)
  }()
  private static let stored = StoredCredential(
    session: .shared, space: ProtectionSpace(host: "a.test", port: 443, protocolName: "https"),
    credential: Credential(user: "alice", password: "pw", persistence: .permanent))

  private func fill() async throws {
    let store = try SQLiteLedger(path: path, box: Self.box(1)) { _ in }
    var change = LedgerChange()
    change.createdTasks = [Self.task]
    change.credentials = [Self.stored]
    try await store.write(change)
    await store.close()
  }

  private func expectAll(_ box: SecretBox) async throws {
    let store = try SQLiteLedger(path: path, box: box) { _ in }
    #expect(try await store.task(Self.task.id) == Self.task)
    #expect(try await store.storage(of: .shared).credentials == [Self.stored])
    await store.close()
  }

  @Test func `text that looks sealed does not stop the rotation`() async throws {
    try await fill()
    #expect(try SecretRotation.run(database: path, from: Self.box(1), to: Self.box(2, 1)) {} == 2)
    try await expectAll(Self.box(2))
  }

  @Test func `credential under an unknown key stops the rotation`() async throws {
    try await fill()
    #expect(throws: SecretRotation.UnknownKey.self) {
      try SecretRotation.run(database: path, from: Self.box(1), to: Self.box(2, 3)) {
        Issue.record("the new key was used, although the old key is unknown")
      }
    }
    try await expectAll(Self.box(1))
  }

  @Test func `rotation without a stored new key changes nothing`() async throws {
    try await fill()
    #expect(throws: NoDisk.self) {
      try SecretRotation.run(database: path, from: Self.box(1), to: Self.box(2, 1)) { throw NoDisk() }
    }
    try await expectAll(Self.box(1))
  }
}

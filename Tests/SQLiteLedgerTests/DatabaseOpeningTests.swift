import Crypto
import Foundation
import GRDB
import Ledger
import LedgerConformance
import Records
import TestSupport
import Testing
import TransferModel

@testable import SQLiteLedger

/// Opening and closing: refused databases, keys, synced commits and the write-ahead log.
@Suite(.serialized) struct DatabaseOpeningTests {
  private let path = TemporaryDirectory.make("ferry-opening") + "/test.db"

  private struct NoDisk: Error {}

  private static func box(_ keys: UInt8...) -> SecretBox {
    SecretBox(secrets: keys.map { SymmetricKey(data: [UInt8](repeating: $0, count: 32)) })
  }

  private func open(
    _ box: SecretBox = box(1), mayCreate: Bool = true, willWrite: () throws -> Void = {}
  ) throws -> SQLiteLedger {
    try SQLiteLedger(path: path, box: box, mayCreate: mayCreate, willWrite: willWrite) { _ in }
  }

  private func expect(_ error: OpeningError, _ box: SecretBox = box(1), mayCreate: Bool = true) {
    #expect(throws: error) {
      try open(box, mayCreate: mayCreate) { Issue.record("the database was written before the refusal") }
    }
  }

  private func execute(_ sql: String) throws {
    let queue = try DatabaseQueue(path: path)
    try queue.writeWithoutTransaction { try $0.execute(sql: sql) }
    try queue.close()
  }

  private static func change(_ text: String) -> LedgerChange {
    var change = LedgerChange()
    change.workerReports = [text]
    return change
  }

  @Test func `database of an incompatible newer version is refused`() async throws {
    let next = Schema.current.newest + 1
    let unknown = ["\(next) tomorrow", "\(next + 1) the day after"]
    await (try open()).close()
    try execute("INSERT INTO grdb_migrations (identifier) VALUES ('\(unknown[0])'), ('\(unknown[1])')")
    // The newer version first declares this one compatible, and then incompatible.
    await (try open()).close()
    try execute("PRAGMA user_version = \(next)")
    expect(.newer(unknown))
    expect(.newer(unknown), Self.box(2))
    #expect(throws: OpeningError.newer(unknown)) {
      try SecretRotation.run(database: path, from: Self.box(1), to: Self.box(2, 1)) {}
    }
  }

  @Test func `database under other keys is refused`() async throws {
    await (try open()).close()
    expect(.otherKey, Self.box(2))
    await (try open(Self.box(2, 1))).close()
    expect(.otherKey, Self.box(2))
  }

  /// The keys are not checked, and nothing in the database changes.
  @Test func `database from before the first release is refused`() throws {
    try execute(
      """
      PRAGMA journal_mode = WAL;
      CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
      INSERT INTO grdb_migrations VALUES ('1 sessions, tasks, journal, outbox'), ('22 messages without their session''s webhook');
      PRAGMA user_version = 22;
      """)
    for _ in 0..<2 { expect(.beforeFirst) }
    #expect(throws: OpeningError.beforeFirst) {
      try SecretRotation.run(database: path, from: Self.box(1), to: Self.box(2, 1)) {}
    }
    let queue = try DatabaseQueue(path: path)
    #expect(try queue.read { try Int.fetchOne($0, sql: "PRAGMA user_version") } == 22)
    #expect(try queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM grdb_migrations") } == 2)
    #expect(
      try queue.read { try String.fetchAll($0, sql: "SELECT name FROM sqlite_master WHERE type = 'table'") }
        == ["grdb_migrations"])
  }

  @Test func `key check is replaced with the keys`() async throws {
    await (try open()).close()
    #expect(try SecretRotation.run(database: path, from: Self.box(1), to: Self.box(2, 1)) {} == 0)
    await (try open(Self.box(2))).close()
    expect(.otherKey)
  }

  @Test func `missing database is not created without permission`() async throws {
    expect(.missing, mayCreate: false)
    #expect(!FileManager.default.fileExists(atPath: path))
    #expect(FileManager.default.createFile(atPath: path, contents: nil))
    expect(.missing, mayCreate: false)
    // A database without content.
    try execute("PRAGMA user_version = 0; CREATE TABLE t (a); DROP TABLE t")
    expect(.missing, mayCreate: false)
    await (try open()).close()
    await (try open(mayCreate: false)).close()
  }

  @Test func `failed key storage leaves a database without keys`() async throws {
    #expect(throws: NoDisk.self) { try open { throw NoDisk() } }
    await (try open(Self.box(2))).close()
  }

  @Test func `file that is not a database is refused`() throws {
    try Data("this is not a database, but it is long enough to look like one".utf8).write(
      to: URL(fileURLWithPath: path))
    #expect { try open() } throws: { if case OpeningError.failed = $0 { true } else { false } }
  }

  /// GRDB itself sets NORMAL, which may lose commits in a power failure.
  @Test func `every commit is synced`() throws {
    let pool = try DatabaseFile(path: path).open(Self.box(1), mayCreate: true) {}
    let synchronous = try pool.writeWithoutTransaction { try Int.fetchOne($0, sql: "PRAGMA synchronous") }
    #expect(synchronous == 2)
    try pool.close()
  }

  private var logSize: Int {
    let attributes = try? FileManager.default.attributesOfItem(atPath: path + "-wal")
    return (attributes?[.size] as? Int) ?? 0
  }

  @Test(arguments: [false, true]) func `close empties the log`(_ isOpenElsewhere: Bool) async throws {
    let store = try open()
    let other = isOpenElsewhere ? try open() : nil
    for number in 0..<20 { try await store.write(Self.change("\(number)")) }
    #expect(logSize > 0)
    await store.close()
    #expect(logSize == 0)
    try await other?.write(Self.change("x"))
    await other?.close()
    #expect(logSize == 0)
    let again = try open()
    #expect(try await again.workerReports(after: 0, limit: 100).count == (isOpenElsewhere ? 21 : 20))
    await again.close()
  }

  @Test func `opening a locked database ends after a limit`() throws {
    let (first, second) = (DatabaseFile(path: path), DatabaseFile(path: path, patience: .milliseconds(20)))
    _ = try first.write {
      #expect(throws: OpeningError.lockedByOther) { try second.open(Self.box(1), mayCreate: true) {} }
    }
    try second.open(Self.box(1), mayCreate: true) {}.close()
  }
}

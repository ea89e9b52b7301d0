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

/// Opens the databases of all earlier versions. `Tests/Golden/store` has the SQL dump of one for each migration, under the key of
/// `GoldenSamples`.
@Suite(.serialized) struct GoldenDatabaseTests {
  private static let first = Migrations.first
  private static let newest = Schema.current.newest
  private let path = TemporaryDirectory.make("ferry-golden") + "/test.db"
  private let samples = GoldenSamples()

  static func name(_ migration: Int) -> String { "database.\(migration).sql" }
  static var names: [String] { (first...newest).map { name($0) } }

  private var command: StoredCommand { StoredCommand(session: samples.session.id, document: #"{"a":1}"#) }
  private var work: StoredWork {
    StoredWork(task: samples.task.id, session: samples.session.id, document: #"{"b":2}"#)
  }

  /// Fails if a new migration has no golden database, and prints one.
  @Test func `newest migration has a golden database`() async throws {
    guard try !GoldenFiles.names(in: "store").contains(Self.name(Self.newest)) else { return }
    let store = try SQLiteLedger(path: path, box: GoldenSamples.box) { _ in }
    for change in samples.changes { try await store.write(change) }
    var change = LedgerChange()
    (change.commands, change.work, change.workerReports) = ([command], [work], [#"{"c":3}"#])
    change.endpoints = [samples.endpoint]
    try await store.write(change)
    var pruning = Pruning()
    pruning.events = PrunedEvents(through: 0, time: GoldenSamples.time)
    change = LedgerChange()
    change.pruning = pruning
    try await store.write(change)
    await store.close()
    let queue = try DatabaseQueue(path: path)
    let dump = try await queue.read { try Self.dump($0) }
    try GoldenFiles.expect(dump, is: "store/" + Self.name(Self.newest))
  }

  @Test(arguments: first...newest) func `golden database opens`(_ migration: Int) async throws {
    let dump = try GoldenFiles.text("store/" + Self.name(migration))
    let queue = try DatabaseQueue(path: path)
    try await queue.write { try $0.execute(sql: dump) }
    #expect(
      try await queue.read { try Migrations.migrator(GoldenSamples.box).appliedMigrations($0).count }
        == migration - Self.first + 1)
    try queue.close()
    try await GoldenDocumentFormatTests.expectAll(path, GoldenSamples.box)
    let store = try SQLiteLedger(path: path, box: GoldenSamples.box) { _ in }
    #expect(try await store.commands(after: 0, limit: 9).map(\.content) == [command])
    #expect(try await store.workerReports(after: 0, limit: 9).map(\.content) == [#"{"c":3}"#])
    #expect(try await store.work() == [work])
    #expect(try await store.endpoints() == (migration > 100 ? [samples.endpoint] : []))
    #expect(try await store.sessions().map(\.lastIdentifier) == [5, 0])
    await store.close()
  }

  /// Re-encrypts each golden database under another key, and drops the old key.
  @Test(arguments: first...newest) func `golden database takes a new key`(_ migration: Int) async throws {
    let queue = try DatabaseQueue(path: path)
    try await queue.write { try $0.execute(sql: GoldenFiles.text("store/" + Self.name(migration))) }
    try queue.close()
    let new = SecretBox(secrets: [SymmetricKey(data: [UInt8](repeating: 8, count: 32))])
    let both = SecretBox(secrets: [8, 7].map { SymmetricKey(data: [UInt8](repeating: $0, count: 32)) })
    #expect(try SecretRotation.run(database: path, from: GoldenSamples.box, to: both) {} > 12)
    try await GoldenDocumentFormatTests.expectAll(path, new)
  }

  /// Returns the tables, their rows and the indices as SQL.
  private static func dump(_ database: Database) throws -> String {
    let kinds = ["table", "index"]
    var lines: [String] = []
    for kind in kinds {
      let found = try Row.fetchAll(
        database,
        sql: """
          SELECT name, sql FROM sqlite_master WHERE type = ? AND sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY name
          """, arguments: [kind])
      lines += found.map { "\($0["sql"] as String);" }
      guard kind == "table" else { continue }
      for table in found { lines += try rows(of: table["name"], database) }
    }
    return lines.map { $0 + "\n" }.joined()
  }

  private static func rows(of table: String, _ database: Database) throws -> [String] {
    let columns = try database.columns(in: table).map(\.name)
    let values = columns.map { "quote(\"\($0)\")" }.joined(separator: " || ', ' || ")
    let names = columns.joined(separator: ", ")
    return try String.fetchAll(database, sql: "SELECT \(values) FROM \"\(table)\"")
      .map { "INSERT INTO \(table) (\(names)) VALUES (\($0));" }
  }
}

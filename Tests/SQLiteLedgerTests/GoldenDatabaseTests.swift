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

/// A database as a version has left it is opened by every later one: `Tests/Golden/store` has one for each migration, by its number, as
/// SQLite writes rows down. They are under the key of `GoldenSamples`.
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

  /// Whoever appends a migration leaves a database behind.
  @Test func theNewestHasOne() async throws {
    guard try !Golden.names(in: "store").contains(Self.name(Self.newest)) else { return }
    let store = try SQLiteLedger(path: path, box: GoldenSamples.box) { _ in }
    for change in samples.changes { try await store.write(change) }
    var change = StoreChange()
    (change.commands, change.work, change.news) = ([command], [work], [#"{"c":3}"#])
    try await store.write(change)
    var pruning = Pruning()
    pruning.events = PrunedEvents(through: 0, time: GoldenSamples.time)
    change = StoreChange()
    change.pruning = pruning
    try await store.write(change)
    await store.close()
    let queue = try DatabaseQueue(path: path)
    let dump = try await queue.read { try Self.dump($0) }
    try Golden.expect(dump, is: "store/" + Self.name(Self.newest))
  }

  @Test(arguments: first...newest) func itIsOpened(_ migration: Int) async throws {
    let dump = try Golden.text("store/" + Self.name(migration))
    let queue = try DatabaseQueue(path: path)
    try await queue.write { try $0.execute(sql: dump) }
    #expect(
      try await queue.read { try Migrations.migrator(GoldenSamples.box).appliedMigrations($0).count }
        == migration - Self.first + 1)
    try queue.close()
    try await GoldenTests.expectAll(path, GoldenSamples.box)
    let store = try SQLiteLedger(path: path, box: GoldenSamples.box) { _ in }
    #expect(try await store.commands(after: 0, limit: 9).map(\.content) == [command])
    #expect(try await store.news(after: 0, limit: 9).map(\.content) == [#"{"c":3}"#])
    #expect(try await store.work() == [work])
    #expect(try await store.sessions().map(\.lastIdentifier) == [5, 0])
    await store.close()
  }

  /// Under a key of its own, once the old one is dropped.
  @Test(arguments: first...newest) func itIsSealedAnew(_ migration: Int) async throws {
    let queue = try DatabaseQueue(path: path)
    try await queue.write { try $0.execute(sql: Golden.text("store/" + Self.name(migration))) }
    try queue.close()
    let new = SecretBox(secrets: [SymmetricKey(data: [UInt8](repeating: 8, count: 32))])
    let both = SecretBox(secrets: [8, 7].map { SymmetricKey(data: [UInt8](repeating: $0, count: 32)) })
    #expect(try SecretRotation.run(database: path, from: GoldenSamples.box, to: both) {} > 12)
    try await GoldenTests.expectAll(path, new)
  }

  /// Tables, their rows, and what finds them.
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

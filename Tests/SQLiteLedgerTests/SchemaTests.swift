import Foundation
import GRDB
import Ledger
import Records
import TestSupport
import Testing
import TransferModel

@testable import SQLiteLedger

/// Compares the migrated tables with `StoredTable`, and checks that every stored document has a golden file.
@Suite(.serialized) struct SchemaTests {
  private static let box = GoldenSamples.box

  private static func migrated() throws -> DatabaseQueue {
    let queue = try DatabaseQueue()
    try Migrations.migrator(box).migrate(queue)
    return queue
  }

  /// The internal tables of SQLite and GRDB.
  private static let foreign: Set<String> = ["grdb_migrations", "sqlite_sequence"]

  @Test func everyTableIsDeclared() throws {
    let tables = try Self.migrated().read { database in
      try String.fetchSet(database, sql: "SELECT name FROM sqlite_master WHERE type = 'table'")
    }
    #expect(tables.subtracting(Self.foreign) == Set(StoredTable.allCases.map(\.rawValue)))
  }

  @Test(arguments: StoredTable.allCases) func columnsAreDeclared(_ table: StoredTable) throws {
    let (columns, key) = try Self.migrated().read { database in
      (try database.columns(in: table.rawValue).map(\.name), try database.primaryKey(table.rawValue).columns)
    }
    #expect(Set(columns) == Set(table.columns.map(\.rawValue)))
    #expect(columns.count == table.columns.count)
    #expect(key == table.key.map(\.rawValue))
  }

  @Test func `every declared column is used`() {
    let used = Set(StoredTable.allCases.flatMap(\.columns))
    #expect(used == Set(StoredColumn.allCases))
  }

  /// The name of a document's kind is authenticated with it. The kind of a column is its place, and never changes.
  @Test func `document kinds have distinct names`() {
    #expect(SealedDocument.allCases.allSatisfy { $0.kind.name == $0.place.name })
    let names =
      SealedDocument.allCases.map(\.name) + SealedText.allCases.map(\.name) + [DocumentKind.resumeData.name]
    #expect(Set(names).count == names.count)
  }

  private static let migrations = Migrations.migrator(box).migrations

  private static let numbers = Migrations.first..<(Migrations.first + migrations.count)

  /// Migrations have run on users' disks.
  @Test(arguments: numbers) func `migrations never change`(_ number: Int) throws {
    let name = Self.migrations[number - Migrations.first]
    #expect(name.hasPrefix("\(number) "))
    let queue = try DatabaseQueue()
    try Migrations.migrator(Self.box).migrate(queue, upTo: name)
    let schema = try queue.read { database in
      try String.fetchAll(
        database,
        sql: """
          SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' AND name NOT LIKE 'grdb_%'
          ORDER BY name
          """)
    }
    try GoldenFiles.expect("-- \(name)\n" + schema.map { $0 + ";\n" }.joined(), is: "schema/\(number).sql")
  }

  @Test func `every migration has a golden schema`() throws {
    #expect(try GoldenFiles.names(in: "schema") == Set(Self.numbers.map { "\($0).sql" }))
  }

  /// Columns in clear hold numbers, ids, tenants, fixed words or digests. Data of a client or an origin is in a sealed column, which has a
  /// golden file.
  @Test func `columns in clear contain no documents`() async throws {
    let path = TemporaryDirectory.make("ferry-schema") + "/test.db"
    let samples = GoldenSamples()
    let store = try SQLiteLedger(path: path, box: Self.box) { _ in }
    for change in samples.changes { try await store.write(change) }
    var change = LedgerChange()
    change.commands = [StoredCommand(session: samples.session.id, document: "{}")]
    change.work = [StoredWork(task: samples.task.id, session: samples.session.id, document: "{}")]
    change.workerReports = ["{}"]
    try await store.write(change)
    await store.close()
    let queue = try DatabaseQueue(path: path)
    for table in StoredTable.allCases {
      let rows = try queue.read { try Row.fetchAll($0, sql: "SELECT * FROM \(table)") }
      for row in rows {
        for column in table.columns {
          try expect(row, table, column)
        }
      }
    }
  }

  private func expect(_ row: Row, _ table: StoredTable, _ column: StoredColumn) throws {
    let place = ColumnReference(table, column)
    let value: DatabaseValue = row[column.rawValue]
    switch value.storage {
    case .null, .int64: return
    case .double: Issue.record("\(place.name) is not an integer")
    case .string(let text):
      if SealedText.allCases.contains(where: { $0.place == place }) {
        #expect(text.hasPrefix(SecretBox.prefix) && Self.box.open(text) != nil, "\(place.name)")
      } else {
        #expect(!text.hasPrefix("{"), "\(place.name): \(text)")
      }
    case .blob(let data):
      if let document = SealedDocument.allCases.first(where: { $0.place == place }) {
        #expect(throws: Never.self, "\(place.name)") { try Self.box.open(Array(data), as: document.kind) }
      } else {
        // Shard bytes take all values.
        #expect(place == ColumnReference(.shard, .byte) || data.first != UInt8(ascii: "{"), "\(place.name)")
      }
    }
  }
}

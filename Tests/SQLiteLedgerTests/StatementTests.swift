import GRDB
import GRDBSQLite
import Ledger
import Testing
import TransferModel

@testable import SQLiteLedger

/// Prepares every statement on the current tables, and checks that each is declared once.
@Suite(.serialized) struct StatementTests {
  private static func read<T>(_ body: (Database) throws -> T) throws -> T {
    let queue = try DatabaseQueue()
    try Migrations.migrator(GoldenSamples.box).migrate(queue)
    return try queue.writeWithoutTransaction { try body($0) }
  }

  private static func writes(_ database: Database) throws -> [String] {
    let connection = try #require(database.sqliteConnection)
    var texts: [String] = []
    let statements = try WriteStatements { text in
      texts.append(text)
      return try WriteStatement(connection, text)
    }
    statements.finalize()
    return texts
  }

  private static func normalized(_ text: String) -> String {
    text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
  }

  @Test func `statements are prepared once`() throws {
    try Self.read { database in
      for query in Query.allCases {
        let statement = try database.prepared(query)
        #expect(statement.isReadonly, "\(query)")
        #expect(try database.prepared(query) === statement)
      }
      #expect(try Self.writes(database).count > 50)
    }
  }

  @Test func `no two statements are the same`() throws {
    let texts = try Self.read { database in try Query.allCases.map(\.text) + Self.writes(database) }
    let normalized = texts.map { Self.normalized($0) }
    for text in Set(normalized) { #expect(normalized.count { $0 == text } == 1, "\(text)") }
  }

  /// Growing tables are read by an index, except by queries for all rows.
  @Test func `large tables are read by an index`() throws {
    let whole: Set<Query> = [
      .sessions, .tenants, .sessionsWithStorage, .oldestEvents, .lastSequence, .pendingDestinations,
    ]
    try Self.read { database in
      for query in Query.allCases where !whole.contains(query) {
        let text = query.text.replacing(/\?[0-9]*|:[a-z]+/, with: "1")
        let steps = try Row.fetchAll(database, sql: "EXPLAIN QUERY PLAN " + text)
        for step in steps {
          let detail: String = step["detail"]
          let isScan = detail.hasPrefix("SCAN ") && !detail.contains("USING")
          #expect(!isScan || detail == "SCAN CONSTANT ROW" || Self.isSmall(detail), "\(query): \(detail)")
        }
      }
    }
  }

  /// A page of deliveries, and the search for an unfinished task of a group, read no other rows.
  @Test(
    arguments: [
      (Query.deliveriesOfTenant, "delivery_by_tenant (tenant=? AND id>? AND id<?)"),
      (.deliveriesOfState, "delivery_by_state (tenant=? AND state=? AND id>? AND id<?)"),
      (.newestDeliveriesOfState, "delivery_by_state (tenant=? AND state=? AND id>? AND id<?)"),
      (.deliveriesOfEndpoint, "delivery_by_endpoint (endpoint=? AND id>? AND id<?)"),
      (
        .deliveriesOfEndpointAndState,
        "delivery_by_endpoint_and_state (endpoint=? AND state=? AND id>? AND id<?)"
      ),
      (
        .newestDeliveriesOfEndpointAndState,
        "delivery_by_endpoint_and_state (endpoint=? AND state=? AND id>? AND id<?)"
      ),
      (.deliveriesOfTask, "delivery_by_task (task=? AND id>? AND id<?)"),
      (.unfinishedInGroup, "task_unfinished_by_group (group_key=?)"),
      (.staleGroups, "task_group_by_end (<expr><?)"),
    ])
  func `pages are read by all columns of their index`(_ query: Query, _ index: String) throws {
    try Self.read { database in
      let text = query.text.replacing(/\?[0-9]*/, with: "1")
      let steps = try Row.fetchAll(database, sql: "EXPLAIN QUERY PLAN " + text)
        .map { $0["detail"] as String }
      #expect(steps.first?.hasSuffix(index) == true, "\(steps)")
      #expect(!steps.contains { $0.contains("TEMP B-TREE") }, "\(steps)")
    }
  }

  /// Returns whether the step scans a pragma, or a table with few rows: one, a few per tenant, one per process or one per shard.
  private static func isSmall(_ detail: String) -> Bool {
    detail.hasPrefix("SCAN pragma_")
      || [
        "journal_pruning", "sequence_reservation", "key_check", "owner", "process", "shard", "worker",
        "webhook_endpoint",
      ]
      .contains { detail == "SCAN \($0)" }
  }
}

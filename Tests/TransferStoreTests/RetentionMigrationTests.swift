import Crypto
import Foundation
import GRDB
import TestSupport
import Testing
import TransferModel

@testable import TransferStore

/// What retention finds in a database of an earlier version.
@Suite(.serialized) struct RetentionMigrationTests {
  private let path = TemporaryDirectory.make("ferry-retention") + "/test.db"
  private static let time = Timestamp(seconds: 1_800_000_000)
  private static let box = SecretBox(secrets: [SymmetricKey(data: [UInt8](repeating: 7, count: 32))])

  private static func id<Kind>(_ number: UInt64) -> ID<Kind> { ID(at: time, random: (number, number)) }

  @Test func anEarlierVersionsTasksAreFound() async throws {
    let pool = try DatabasePool(path: path)
    let before = "5 cookies, named configurations, what memory has numbered"
    try Migrations.migrator(Self.box).migrate(pool, upTo: before)
    let document =
      #"{"completedAt":1800000010000000,"body":{"size":9,"sha256":"a","expiresAt":1800000020000000}}"#
    try await pool.write { database in
      for (number, state, outcome) in [(1, "completed", document), (2, "running", "{}")] {
        let id: TaskID = Self.id(UInt64(number))
        try database.execute(
          sql: """
            INSERT INTO task (id, session, identifier, kind, state, suspend_count, created, specification, outcome)
            VALUES (?, ?, 1, 'data', ?, 0, 1800000000000000, '{"request":{"url":"http://a/","method":"GET"}}', ?)
            """, arguments: [Data(id.bytes), Data(count: 16), state, outcome])
      }
    }
    try pool.close()
    let store = try SQLiteStore(path: path, box: Self.box) { _ in }
    #expect(
      try await store.finishedTasks(.ended(by: Self.time.adding(seconds: 99)), limit: 9) == [
        FinishedTask(
          id: Self.id(1), sessionID: .shared, endedAt: Self.time.adding(seconds: 10),
          keptUntil: Self.time.adding(seconds: 20), keptBytes: 9)
      ])
    await store.close()
  }
}

import Crypto
import GRDB
import TestSupport
import Testing
import TransferModel

@testable import TransferStore

/// A database of the first version is taken on as it is.
@Suite(.serialized) struct FirstVersionTests {
  private static let time = Timestamp(seconds: 1_800_000_000)
  private let path = TemporaryDirectory.make("ferry-store") + "/test.db"

  @Test func theFirstVersionIsMigrated() async throws {
    let pool = try DatabasePool(path: path)
    try Migrations.migrator(SecretBox(secrets: [])).migrate(pool, upTo: "1 sessions, tasks, journal, outbox")
    try await pool.write { database in
      try database.execute(
        sql: """
          INSERT INTO delivery (id, session, type, url, payload, created, state, attempts, next_attempt)
          VALUES (x'00000000000000010000000000000002', x'00000000000000000000000000000000', 'task.didComplete',
            'http://a/', x'7b7d', 1, 'pending', 0, 1);
          INSERT INTO task (id, session, identifier, kind, state, suspend_count, created, specification)
          VALUES (x'00000000000000010000000000000003', x'00000000000000000000000000000000', 1, 'download',
            'suspended', 1, 1, '{"description":null,"priority":0.5,"request":{"url":"http://a/","method":"GET","headers":{}}}');
          """)
    }
    try pool.close()
    let store = try SQLiteStore(
      path: path, box: SecretBox(secrets: [SymmetricKey(data: [UInt8](repeating: 7, count: 32))])
    ) { _ in }
    let due = try await store.dueDeliveries(at: Self.time, limit: 10)
    #expect(due.count == 1 && due.first?.decisionID == nil)
    let task = try await store.task(TaskID(high: 1, low: 3))
    #expect(task?.originalRequest.url == "http://a/" && task?.state == .suspended)
    #expect(task?.resumePoint == nil && task?.maximumBytesPerSecond == nil)
    await store.close()
  }
}

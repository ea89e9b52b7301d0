internal import FoundationEssentials
internal import GRDB
package import TransferModel

/// The embedded store: one SQLite database in WAL mode, every commit on disk (synchronous FULL).
///
/// Writes from everywhere gather in a queue; a thread of its own takes all that wait and commits them as one
/// transaction, so that many requests share one fsync. Readers have connections of their own and never wait for it.
package final class SQLiteStore: TransferStore {
  private let pool: DatabasePool
  private let queue: CommitQueue
  private let box: SecretBox

  /// Opens or creates the database at `path`.
  /// - Parameters:
  ///   - box: seals the secrets.
  ///   - published: hears the fragments of each commit, in order, once its writers have heard of it.
  package init(
    path: String, box: SecretBox, published: @escaping @Sendable ([JournalFragment]) -> Void
  ) throws(StoreError) {
    self.box = box
    var configuration = Configuration()
    configuration.label = "ferry-store"
    configuration.maximumReaderCount = 4
    configuration.busyMode = .timeout(5)
    configuration.prepareDatabase { database in
      try database.execute(
        sql: """
          PRAGMA synchronous = FULL;
          PRAGMA wal_autocheckpoint = 4000;
          PRAGMA journal_size_limit = 67108864;
          PRAGMA temp_store = MEMORY;
          """)
    }
    do {
      pool = try DatabasePool(path: path, configuration: configuration)
      try Migrations.migrator(box).migrate(pool)
      // Where there is no room for that now, there may be when the store is opened again.
      try? pool.writeWithoutTransaction { try Overwritten.remove($0) }
      let last = try pool.read { try Int64.fetchOne($0, sql: "SELECT max(last) FROM journal") } ?? 0
      queue = CommitQueue(pool: pool, box: box, lastSequence: last, published: published)
    } catch {
      throw StoreError(error)
    }
  }

  package func write(_ change: StoreChange) async throws(StoreError) {
    let result = await withCheckedContinuation { (continuation: CheckedContinuation<StoreError?, Never>) in
      queue.append(.request(change) { continuation.resume(returning: $0) })
    }
    if let result { throw result }
  }

  package func record(_ change: StoreChange, committed: @escaping @Sendable () -> Void) {
    queue.append(.fact(change, committed: committed))
  }

  package var isHealthy: Bool { queue.isHealthy }
  package var lastSequence: Int64 { queue.lastSequenceWritten }

  package func close() async {
    await withCheckedContinuation { continuation in queue.close { continuation.resume() } }
    try? pool.close()
  }

  // MARK: Reading

  private func read<T: Sendable>(_ body: @escaping @Sendable (Database) throws -> T) async throws(StoreError)
    -> T
  {
    do { return try await pool.read(body) } catch { throw StoreError(error) }
  }

  package func sessions() async throws(StoreError) -> [(session: TransferSession, lastIdentifier: Int)] {
    try await read { [box] database in
      try Row.fetchAll(database, sql: "SELECT * FROM session ORDER BY id").map { row in
        (try TransferSession(row: row, openedBy: box), row["last_identifier"])
      }
    }
  }

  package func task(_ id: TaskID) async throws(StoreError) -> TransferTask? {
    try await read { [box] database in
      try Row.fetchOne(database, sql: Self.taskColumns + " WHERE id = ?", arguments: [Data(id.bytes)])
        .map { try TransferTask(row: $0, openedBy: box) }
    }
  }

  private static let taskColumns = """
    SELECT id, session, identifier, kind, state, suspend_count, created, specification, request_body, outcome
    FROM task
    """

  package func tasks(_ query: TaskQuery) async throws(StoreError) -> [TransferTask] {
    try await read { [box] database in
      var sql = Self.taskColumns + " WHERE session = ?"
      var arguments: StatementArguments = [Data(query.session.bytes)]
      if let after = query.after {
        sql += " AND id > ?"
        arguments += [Data(after.bytes)]
      }
      if let kind = query.kind {
        sql += " AND kind = ?"
        arguments += [kind.rawValue]
      }
      if let state = query.state {
        sql += " AND state = ?"
        arguments += [state.rawValue]
      }
      arguments += [query.limit]
      return try Row.fetchAll(database, sql: sql + " ORDER BY id LIMIT ?", arguments: arguments)
        .map { try TransferTask(row: $0, openedBy: box) }
    }
  }

  package func unfinishedTasks(after id: TaskID?, limit: Int) async throws(StoreError) -> [TransferTask] {
    try await read { [box] database in
      try Row.fetchAll(
        database, sql: Self.taskColumns + " WHERE state <> 'completed' AND id > ? ORDER BY id LIMIT ?",
        arguments: [Data(id?.bytes ?? []), limit]
      ).map { try TransferTask(row: $0, openedBy: box) }
    }
  }

  package func smallBody(of id: TaskID) async throws(StoreError) -> [UInt8]? {
    try await read { database in
      try Data.fetchOne(
        database, sql: "SELECT small_body FROM task WHERE id = ?", arguments: [Data(id.bytes)]
      )
      .map { Array($0) }
    }
  }

  package func metrics(of id: TaskID) async throws(StoreError) -> [UInt8]? {
    try await read { database in
      try String.fetchOne(database, sql: "SELECT metrics FROM task WHERE id = ?", arguments: [Data(id.bytes)])
        .map { Array($0.utf8) }
    }
  }

  package func decision(_ id: DecisionID) async throws(StoreError) -> Decision? {
    try await read { database in
      try Row.fetchOne(database, sql: "SELECT * FROM decision WHERE id = ?", arguments: [Data(id.bytes)])
        .map { Decision(row: $0) }
    }
  }

  package func decisions(
    of session: SessionID, state: Decision.State?, after: DecisionID?, limit: Int
  ) async throws(StoreError) -> [Decision] {
    try await read { database in
      try Row.fetchAll(
        database,
        sql: """
          SELECT * FROM decision WHERE session = ? AND id > ? AND (? IS NULL OR state = ?) ORDER BY id LIMIT ?
          """,
        arguments: [
          Data(session.bytes), Data(after?.bytes ?? []), state?.rawValue, state?.rawValue, limit,
        ]
      ).map { Decision(row: $0) }
    }
  }

  package func credentials() async throws(StoreError) -> [StoredCredential] {
    try await read { [box] database in
      try String.fetchAll(database, sql: "SELECT sealed FROM credential ORDER BY session, space")
        .compactMap { sealed in box.open(sealed).flatMap { StoredCredential(document: $0) } }
    }
  }

  package func file(_ id: FileID) async throws(StoreError) -> StoredFile? {
    try await read { database in
      try Row.fetchOne(database, sql: "SELECT * FROM file WHERE id = ?", arguments: [Data(id.bytes)])
        .map { StoredFile(row: $0) }
    }
  }

  package func files(after: FileID?, limit: Int) async throws(StoreError) -> [StoredFile] {
    try await read { database in
      try Row.fetchAll(
        database, sql: "SELECT * FROM file WHERE id > ? ORDER BY id LIMIT ?",
        arguments: [Data(after?.bytes ?? []), limit]
      ).map { StoredFile(row: $0) }
    }
  }

  package func bodyFiles(of session: SessionID) async throws(StoreError) -> [TaskID] {
    try await read { database in
      try Data.fetchAll(
        database, sql: "SELECT id FROM task WHERE session = ? AND has_body_file",
        arguments: [Data(session.bytes)]
      ).compactMap { TaskID(bytes: Array($0)) }
    }
  }

  package func hasBodyFile(_ id: TaskID) async throws(StoreError) -> Bool {
    try await read { database in
      try Bool.fetchOne(
        database, sql: "SELECT has_body_file FROM task WHERE id = ?", arguments: [Data(id.bytes)]) ?? false
    }
  }

  package func journal(
    _ scope: EventScope, after sequence: Int64, maximumBytes: Int
  ) async throws(StoreError) -> JournalPage {
    try await read { database in
      let (index, condition, argument) = Self.plan(scope)
      // A fragment may begin before `sequence` and end after it: at most one, the last that begins before.
      let before = try Int64.fetchOne(
        database,
        sql:
          "SELECT first FROM journal \(index) WHERE \(condition) AND first <= :after ORDER BY first DESC LIMIT 1",
        arguments: ["after": sequence, "scope": argument])
      let rows = try Row.fetchCursor(
        database,
        sql: """
          SELECT first, last, session, task, stream FROM journal \(index)
          WHERE \(condition) AND first >= :start AND last > :after ORDER BY first
          """, arguments: ["start": before ?? sequence, "after": sequence, "scope": argument])
      var fragments: [JournalFragment] = []
      var bytes = 0
      while bytes < maximumBytes {
        guard let row = try rows.next() else {
          let covered = try Int64.fetchOne(database, sql: "SELECT max(last) FROM journal") ?? 0
          return JournalPage(fragments: fragments, coveredSequence: max(covered, sequence), isLast: true)
        }
        let fragment = JournalFragment(row: row)
        bytes += fragment.bytes.count
        fragments.append(fragment)
      }
      let covered = fragments.last?.last ?? sequence
      return JournalPage(fragments: fragments, coveredSequence: covered, isLast: false)
    }
  }

  /// The index that finds a scope's fragments, and how; SQLite's own choice would scan the journal at times.
  private static func plan(_ scope: EventScope) -> (index: String, condition: String, argument: Data) {
    switch scope {
    case .all: ("NOT INDEXED", "(:scope IS NOT NULL)", Data())
    case .session(let id): ("INDEXED BY journal_by_session", "session = :scope", Data(id.bytes))
    case .task(let id): ("INDEXED BY journal_by_task", "task = :scope", Data(id.bytes))
    }
  }

  package func dueDeliveries(at time: Timestamp, limit: Int) async throws(StoreError) -> [WebhookDelivery] {
    try await read { [box] database in
      try Row.fetchAll(
        database,
        sql: """
          SELECT * FROM delivery WHERE state = 'pending' AND next_attempt <= ? ORDER BY next_attempt LIMIT ?
          """, arguments: [time.microseconds, limit]
      ).map { WebhookDelivery(row: $0, openedBy: box) }
    }
  }

  package func nextDeliveryTime() async throws(StoreError) -> Timestamp? {
    try await read { database in
      try Int64.fetchOne(database, sql: "SELECT min(next_attempt) FROM delivery WHERE state = 'pending'")
        .map { Timestamp(microseconds: $0) }
    }
  }

  package func idempotentReply(_ key: String) async throws(StoreError) -> IdempotentReply? {
    try await read { database in
      try Row.fetchOne(database, sql: "SELECT * FROM idempotency WHERE key = ?", arguments: [key]).map {
        row in
        IdempotentReply(
          key: key, fingerprint: row.bytes("fingerprint"), status: row["status"],
          contentType: row["content_type"], location: row["location"], body: row.bytes("body"),
          createdAt: Timestamp(microseconds: row["created"]))
      }
    }
  }

  package func fingerprints(of digest: [UInt8]) -> [[UInt8]] { box.requests.digests(of: digest) }
}

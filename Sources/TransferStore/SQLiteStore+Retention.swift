internal import FoundationEssentials
internal import GRDB
package import TransferModel

// What there is to take away. Each look is bounded, and finds by an index what it looks for.

extension SQLiteStore {
  package func finishedTasks(
    _ query: FinishedTaskQuery, limit: Int
  ) async throws(StoreError) -> [FinishedTask] {
    let (condition, order, argument) = Self.plan(query)
    let sql = """
      SELECT id, session, identifier, kind, state, suspend_count, created, specification, request_body, outcome,
        is_pruned, completed, kept_until, kept_bytes FROM task
      WHERE \(condition) AND \(Self.isNotHeld("task.id")) AND \(Self.isNobodyWoken) ORDER BY \(order)
      """
    let reader = reader(of: .task)
    let find: @Sendable (Database) throws -> [FinishedTask] = { database in
      try reader.all(database, sql, [argument], limit: limit) { row throws(UnreadableRow) in
        // What cannot be read stays for whoever mends it.
        try TransferTask.checkIntact(row)
        return try FinishedTask(row)
      }
    }
    let durable = try await readDisk(find)
    // What is in memory has a limit of its own.
    if case .keeping = query { return durable }
    return hasEphemeralSessions ? durable + (try await readMemory(find)) : durable
  }

  private static func plan(
    _ query: FinishedTaskQuery
  ) -> (condition: String, order: String, argument: Int64) {
    switch query {
    case .ended(let time): ("completed <= ?", "completed", time.microseconds)
    case .expired(let time): ("kept_until <= ?", "kept_until", time.microseconds)
    case .keeping: ("completed IS NOT NULL AND kept_bytes > ?", "completed", 0)
    }
  }

  /// No message of the task is yet to be delivered.
  private static func isNotHeld(_ task: String) -> String {
    "NOT EXISTS (SELECT 1 FROM delivery WHERE delivery.task = \(task) AND delivery.state = 'pending')"
  }

  /// The client of a task's session was told that there is something for it, or is yet to be told nothing.
  private static let isNobodyWoken = """
    NOT EXISTS (SELECT 1 FROM delivery WHERE delivery.task IS NULL AND delivery.state = 'pending'
      AND delivery.session = task.session AND delivery.type = 'session.handleEvents')
    """

  package func keptBytes() async throws(StoreError) -> Int64 {
    try await readDisk { database in
      try Int64.fetchOne(
        database, sql: "SELECT coalesce(sum(kept_bytes), 0) FROM task WHERE completed IS NOT NULL") ?? 0
    }
  }

  package func oldestEvents(limit: Int) async throws(StoreError) -> [AgedEvents] {
    let known = lastSequence
    let find: @Sendable (Database) throws -> [AgedEvents] = { database in
      try Row.fetchAll(
        database,
        sql: """
          SELECT last, time, NOT (\(Self.isNotHeld("journal.task"))) AS held
          FROM journal ORDER BY first LIMIT ?
          """, arguments: [limit]
      ).map { AgedEvents(row: $0) }
    }
    var pages = [try await readDisk(find)]
    if hasEphemeralSessions { pages.append(try await readMemory(find)) }
    return .joined(pages, limit: limit, known: known)
  }

  package func staleRecords(
    _ ages: StaleRecords.Ages, limit: Int
  ) async throws(StoreError) -> StaleRecords {
    let find: @Sendable (Database) throws -> StaleRecords = { database in
      var stale = StaleRecords()
      stale.deliveries = try Data.fetchAll(
        database, sql: "SELECT id FROM delivery WHERE finished <= ? ORDER BY finished LIMIT ?",
        arguments: [ages.deliveries.microseconds, limit]
      ).compactMap { DeliveryID(bytes: Array($0)) }
      // Ids grow with time, and so do the rows.
      stale.decisions = try Data.fetchAll(
        database,
        sql: """
          SELECT id FROM decision
          WHERE id < ? AND state <> 'pending' AND \(Self.isNotHeld("decision.task")) ORDER BY id LIMIT ?
          """, arguments: [Data(DecisionID(at: ages.decisions, random: (0, 0)).bytes), limit]
      ).compactMap { DecisionID(bytes: Array($0)) }
      stale.replies = try Row.fetchAll(
        database,
        sql: "SELECT tenant, key, created FROM idempotency WHERE created <= ? ORDER BY created LIMIT ?",
        arguments: [ages.replies.microseconds, limit]
      ).map { row in
        StaleRecords.Reply(
          key: IdempotencyKey(tenant: Tenant(name: row["tenant"]), text: row["key"]),
          createdAt: Timestamp(microseconds: row["created"]))
      }
      return stale
    }
    var stale = try await readDisk(find)
    guard hasEphemeralSessions else { return stale }
    let more = try await readMemory(find)
    stale.deliveries += more.deliveries
    stale.decisions += more.decisions
    stale.replies += more.replies
    return stale
  }

  /// How much is gone of the journal's beginning, and what of that was the tenant's where its events are asked for.
  static func prunedEvents(_ database: Database, of scope: EventScope) throws -> PrunedEvents {
    var pruned = try prunedEvents(database)
    if case .tenant(let tenant) = scope {
      pruned.through =
        try Int64.fetchOne(
          database, sql: "SELECT through FROM journal_pruning_by_tenant WHERE tenant = ?",
          arguments: [tenant.name]) ?? 0
    }
    return pruned
  }

  /// How much of the journal's beginning is gone.
  static func prunedEvents(_ database: Database) throws -> PrunedEvents {
    guard let row = try Row.fetchOne(database, sql: "SELECT through, time FROM journal_pruning") else {
      return .none
    }
    return PrunedEvents(through: row["through"], time: Timestamp(microseconds: row["time"]))
  }
}

extension FinishedTask {
  fileprivate init(_ row: StoredRow) throws(UnreadableRow) {
    self.init(
      id: try row.id("id"), sessionID: try row.id("session"), endedAt: try row.time("completed"),
      keptUntil: try row.integerIfAny("kept_until").map { Timestamp(microseconds: $0) },
      keptBytes: try row.integerIfAny("kept_bytes") ?? 0)
  }
}

extension AgedEvents {
  fileprivate init(row: Row) {
    self.init(last: row["last"], time: Timestamp(microseconds: row["time"]), isHeld: row["held"])
  }
}

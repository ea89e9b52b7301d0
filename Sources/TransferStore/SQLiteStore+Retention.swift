internal import FoundationEssentials
internal import GRDB
package import TransferModel

// What there is to take away. Each look is bounded, and finds by an index what it looks for.

extension SQLiteStore {
  package func finishedTasks(
    _ query: FinishedTaskQuery, limit: Int
  ) async throws(StoreError) -> [FinishedTask] {
    let (sql, argument) = Self.query(of: query)
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

  private static func query(of query: FinishedTaskQuery) -> (Query, argument: Int64) {
    switch query {
    case .ended(let time): (.endedTasks, time.microseconds)
    case .expired(let time): (.expiredTasks, time.microseconds)
    case .keeping: (.keepingTasks, 0)
    }
  }

  package func keptBytes() async throws(StoreError) -> Int64 {
    try await readDisk { database in
      try Int64.fetchOne(database.prepared(.keptBytes)) ?? 0
    }
  }

  package func oldestEvents(limit: Int) async throws(StoreError) -> [AgedEvents] {
    let known = lastSequence
    let find: @Sendable (Database) throws -> [AgedEvents] = { database in
      try Row.fetchAll(database.prepared(.oldestEvents), arguments: [limit]).map { AgedEvents(row: $0) }
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
        database.prepared(.staleDeliveries), arguments: [ages.deliveries.microseconds, limit]
      ).compactMap { DeliveryID(bytes: Array($0)) }
      // Ids grow with time, and so do the rows.
      stale.decisions = try Data.fetchAll(
        database.prepared(.staleDecisions),
        arguments: [Data(DecisionID(at: ages.decisions, random: (0, 0)).bytes), limit]
      ).compactMap { DecisionID(bytes: Array($0)) }
      stale.replies = try Row.fetchAll(
        database.prepared(.staleReplies), arguments: [ages.replies.microseconds, limit]
      ).map { row in
        StaleRecords.Reply(
          key: IdempotencyKey(tenant: Tenant(name: row[.tenant]), text: row[.key]),
          createdAt: Timestamp(microseconds: row[.created]))
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
          database.prepared(.prunedOfTenant), arguments: [tenant.name]) ?? 0
    }
    return pruned
  }

  /// How much of the journal's beginning is gone.
  static func prunedEvents(_ database: Database) throws -> PrunedEvents {
    guard let row = try Row.fetchOne(database.prepared(.pruned)) else {
      return .none
    }
    return PrunedEvents(through: row[.through], time: Timestamp(microseconds: row[.time]))
  }
}

extension FinishedTask {
  fileprivate init(_ row: StoredRow) throws(UnreadableRow) {
    self.init(
      id: try row.id(.id), sessionID: try row.id(.session), endedAt: try row.time(.completed),
      keptUntil: try row.integerIfAny(.keptUntil).map { Timestamp(microseconds: $0) },
      keptBytes: try row.integerIfAny(.keptBytes) ?? 0)
  }
}

extension AgedEvents {
  fileprivate init(row: Row) {
    self.init(last: row[.last], time: Timestamp(microseconds: row[.time]), isHeld: row["held"])
  }
}

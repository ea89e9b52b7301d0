internal import FoundationEssentials
internal import GRDB
package import Ledger
package import TransferModel

/// What there is to take away.
extension SQLiteLedger {
  package func finishedTasks(
    _ query: FinishedTaskQuery, in place: RetainedPlace, limit: Int
  ) async throws(StoreError) -> [FinishedTask] {
    let (sql, argument) = Self.query(of: query)
    let reader = databases.reader(of: .task)
    let find: @Sendable (Database) throws -> [FinishedTask] = { database in
      try reader.all(database, sql, [argument], limit: limit) { row throws(UnreadableRow) in
        // What cannot be read stays for whoever mends it.
        try TransferTask.checkIntact(row)
        return try FinishedTask(row)
      }
    }
    var found = place == .everywhere ? try await databases.readDisk(find) : []
    // What is in memory has a limit of its own.
    if case .keeping = query { return found }
    if databases.hasEphemeralSessions { found += try await databases.readMemory(find) }
    return found
  }

  private static func query(of query: FinishedTaskQuery) -> (Query, argument: Int64) {
    switch query {
    case .ended(let time): (.endedTasks, time.microseconds)
    case .expired(let time): (.expiredTasks, time.microseconds)
    case .keeping: (.keepingTasks, 0)
    }
  }

  package func keptBytes() async throws(StoreError) -> Int64 {
    try await databases.readDisk { database in
      try Int64.fetchOne(database.prepared(.keptBytes)) ?? 0
    }
  }

  package func staleRecords(
    _ ages: StaleRecords.Ages, in place: RetainedPlace, limit: Int
  ) async throws(StoreError) -> StaleRecords {
    let replies = databases.reader(of: .idempotency)
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
      stale.replies = try replies.all(database, .staleReplies, [ages.replies.microseconds, limit]) {
        row throws(UnreadableRow) in
        StaleRecords.Reply(
          key: IdempotencyKey(tenant: try row.tenant(), text: try row.text(.replyKey)),
          createdAt: try row.time(.created))
      }
      return stale
    }
    var stale = place == .everywhere ? try await databases.readDisk(find) : StaleRecords()
    if databases.hasEphemeralSessions { stale.add(try await databases.readMemory(find)) }
    return stale
  }
}

extension FinishedTask {
  fileprivate init(_ row: StoredRow) throws(UnreadableRow) {
    self.init(
      id: try row.id(.id), sessionID: try row.id(.session), endedAt: try row.time(.completed),
      keptUntil: try row.integerIfAny(.keptUntil).map { Timestamp(microseconds: $0) },
      keptBytes: try row.integerIfAny(.keptBytes) ?? 0, hadBody: try row.has(.requestBody))
  }
}

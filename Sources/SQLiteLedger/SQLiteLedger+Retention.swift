internal import FoundationEssentials
internal import GRDB
package import Ledger
package import TransferModel

/// Expired records.
extension SQLiteLedger: RetentionRecords {
  package func retentionRecords(in place: StorageTier) -> any RetentionRecords {
    assert(place == .durable, "this ledger has no records in memory")
    return self
  }

  package func finishedTasks(
    _ query: FinishedTaskQuery, limit: Int
  ) async throws(LedgerError) -> [FinishedTask] {
    let (sql, argument) = Self.query(of: query)
    let reader = readers.reader(of: .task)
    return try await readers.read { database in
      try reader.all(database, sql, [argument], limit: limit) { row throws(UnreadableRow) in
        // An unreadable task never expires, so that an operator can repair it.
        try TransferTask.checkIntact(row)
        return try FinishedTask(row)
      }
    }
  }

  private static func query(of query: FinishedTaskQuery) -> (Query, argument: Int64) {
    switch query {
    case .ended(let time): (.endedTasks, time.microseconds)
    case .expired(let time): (.expiredTasks, time.microseconds)
    case .keeping: (.keepingTasks, 0)
    }
  }

  package func keptBytes() async throws(LedgerError) -> Int64 {
    try await readers.read { database in try Int64.fetchOne(database.prepared(.keptBytes)) ?? 0 }
  }

  package func oldestEvents(limit: Int) async throws(LedgerError) -> [JournalRowAge] {
    try await readers.read { database in
      try Row.fetchAll(database.prepared(.oldestEvents), arguments: [limit]).map { JournalRowAge(row: $0) }
    }
  }

  package func staleRecords(
    _ ages: ExpiredRecords.Cutoffs, limit: Int
  ) async throws(LedgerError) -> ExpiredRecords {
    let (replies, groups) = (readers.reader(of: .idempotency), readers.reader(of: .group))
    return try await readers.read { database in
      var stale = ExpiredRecords()
      stale.deliveries = try Data.fetchAll(
        database.prepared(.staleDeliveries), arguments: [ages.deliveries.microseconds, limit]
      ).compactMap { DeliveryID(bytes: Array($0)) }
      // The ids of decisions grow with time, so they stand for the times.
      stale.decisions = try Data.fetchAll(
        database.prepared(.staleDecisions),
        arguments: [Data(DecisionID(at: ages.decisions, random: (0, 0)).bytes), limit]
      ).compactMap { DecisionID(bytes: Array($0)) }
      stale.replies = try replies.all(database, .staleReplies, [ages.replies.microseconds, limit]) {
        row throws(UnreadableRow) in
        ExpiredRecords.Reply(
          key: IdempotencyKey(tenant: try row.tenant(), text: try row.text(.replyKey)),
          createdAt: try row.time(.created))
      }
      stale.groups = try groups.all(database, .staleGroups, [ages.groups.microseconds, limit]) {
        row throws(UnreadableRow) in
        TaskGroupKey(tenant: try row.tenant(), name: try row.text(.groupName))
      }
      return stale
    }
  }
}

extension JournalRowAge {
  fileprivate init(row: Row) {
    self.init(last: row[.last], time: Timestamp(microseconds: row[.time]), isHeld: row["held"])
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

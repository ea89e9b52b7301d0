internal import FoundationEssentials
internal import GRDB
package import TransferModel

// The messages to webhooks. One that cannot be read is not sent, and holds up no other.

extension SQLiteStore {
  package func dueDeliveries(at time: Timestamp, limit: Int) async throws(StoreError) -> [WebhookDelivery] {
    let conditions = [
      ("next_attempt <= ? ORDER BY next_attempt", time),
      // That a clock was put right by a little is nothing to go by.
      ("last_attempt > ? ORDER BY last_attempt", time.adding(seconds: 60)),
    ]
    let reader = reader(of: .delivery)
    let find: @Sendable (Database) throws -> [WebhookDelivery] = { database in
      var due: [WebhookDelivery] = []
      for (condition, time) in conditions where due.count < limit {
        due += try reader.all(
          database, "SELECT * FROM delivery WHERE state = 'pending' AND \(condition)", [time.microseconds],
          limit: limit - due.count
        ) { row throws(UnreadableRow) in try WebhookDelivery(row) }
      }
      return due
    }
    let durable = try await readDisk(find)
    guard hasEphemeralSessions else { return durable }
    let all = durable + (try await readMemory(find))
    return Array(all.sorted { $0.nextAttemptAt < $1.nextAttemptAt }.prefix(limit))
  }

  package func pendingBackgroundDeliveries() async throws(StoreError) -> [PendingDelivery] {
    let reader = reader(of: .delivery)
    return try await readDisk { database in
      try reader.all(
        database,
        """
        SELECT delivery.* FROM delivery JOIN session ON session.id = delivery.session
        WHERE delivery.state = 'pending' AND session.type = 'background'
        """
      ) { row throws(UnreadableRow) in
        let delivery = try WebhookDelivery(row)
        return PendingDelivery(id: delivery.id, sessionID: delivery.sessionID, type: delivery.type)
      }
    }
  }

  /// More than these are looked for again and again, a second apart; SQLite takes 32,766 arguments.
  private static let mostUnreadable = 10_000

  package func nextDeliveryTime() async throws(StoreError) -> Timestamp? {
    // They are never due.
    let unreadable = unreadable.rows(of: StoredTable.delivery.rawValue).compactMap {
      DeliveryID($0.id)?.bytes
    }
    .prefix(Self.mostUnreadable)
    let find: @Sendable (Database) throws -> Int64? = { database in
      let marks = unreadable.map { _ in "?" }.joined(separator: ", ")
      return try Int64.fetchOne(
        database,
        sql: "SELECT min(next_attempt) FROM delivery WHERE state = 'pending' AND id NOT IN (\(marks))",
        arguments: StatementArguments(unreadable.map { Data($0) }))
    }
    let times = [try await readDisk(find), !hasEphemeralSessions ? nil : try await readMemory(find)]
    return times.compactMap { $0 }.min().map { Timestamp(microseconds: $0) }
  }
}

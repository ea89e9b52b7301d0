internal import FoundationEssentials
internal import GRDB
package import TransferModel

// The messages to webhooks. One that cannot be read is not sent, and holds up no other.

extension SQLiteStore {
  package func dueDeliveries(at time: Timestamp, limit: Int) async throws(StoreError) -> [WebhookDelivery] {
    let queries = [
      (Query.dueDeliveries, time),
      // That a clock was put right by a little is nothing to go by.
      (.triedDeliveries, time.adding(seconds: 60)),
    ]
    let reader = reader(of: .delivery)
    let find: @Sendable (Database) throws -> [WebhookDelivery] = { database in
      var due: [WebhookDelivery] = []
      for (query, time) in queries where due.count < limit {
        due += try reader.all(database, query, [time.microseconds], limit: limit - due.count) {
          row throws(UnreadableRow) in try WebhookDelivery(row)
        }
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
      try reader.all(database, .pendingBackgroundDeliveries) { row throws(UnreadableRow) in
        let delivery = try WebhookDelivery(row)
        return PendingDelivery(id: delivery.id, sessionID: delivery.sessionID, type: delivery.type)
      }
    }
  }

  package func nextDeliveryTime() async throws(StoreError) -> Timestamp? {
    // They are never due.
    let unreadable = Set(unreadable.rows(of: .delivery).map(\.id))
    let find: @Sendable (Database) throws -> Int64? = { database in
      let rows = try Row.fetchCursor(database.prepared(.pendingTimes))
      while let row = try rows.next() {
        guard unreadable.isEmpty || !unreadable.contains(StoredTable.delivery.name(of: row)) else { continue }
        return row[.nextAttempt]
      }
      return nil
    }
    let times = [try await readDisk(find), !hasEphemeralSessions ? nil : try await readMemory(find)]
    return times.compactMap { $0 }.min().map { Timestamp(microseconds: $0) }
  }
}

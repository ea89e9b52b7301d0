internal import FoundationEssentials
internal import GRDB
package import Ledger
package import TransferModel

/// The messages to webhooks.
extension SQLiteLedger {
  package func hasPendingDelivery(_ task: TaskID) async throws(StoreError) -> Bool {
    try await databases.find { database in
      try Bool.fetchOne(database.prepared(.hasPendingDelivery), arguments: [Data(task.bytes)])
    } ?? false
  }

  package func dueDeliveries(at time: Timestamp, limit: Int) async throws(StoreError) -> [WebhookDelivery] {
    let queries = [
      (Query.dueDeliveries, time),
      // That a clock was put right by a little is nothing to go by.
      (.triedDeliveries, time.adding(seconds: 60)),
    ]
    let reader = databases.reader(of: .delivery)
    @Sendable func find(_ database: Database, of owner: Epoch?) throws -> [WebhookDelivery] {
      var due: [WebhookDelivery] = []
      for (query, time) in queries where due.count < limit {
        due += try reader.all(database, query, [time.microseconds, owner], limit: limit - due.count) {
          row throws(UnreadableRow) in try WebhookDelivery(row)
        }
      }
      return due
    }
    let owner = queue.part
    let durable = try await databases.readDisk { try find($0, of: owner) }
    guard databases.hasEphemeralSessions else { return durable }
    let all = durable + (try await databases.readMemory { try find($0, of: nil) })
    return Array(all.sorted { $0.nextAttemptAt < $1.nextAttemptAt }.prefix(limit))
  }

  package func pendingBackgroundDeliveries() async throws(StoreError) -> [PendingDelivery] {
    let reader = databases.reader(of: .delivery)
    return try await databases.readDisk { database in
      try reader.all(database, .pendingBackgroundDeliveries) { row throws(UnreadableRow) in
        let delivery = try WebhookDelivery(row)
        return PendingDelivery(id: delivery.id, sessionID: delivery.sessionID, type: delivery.type)
      }
    }
  }

  package func nextDeliveryTime() async throws(StoreError) -> Timestamp? {
    // They are never due.
    let unreadable = Set(databases.unreadable.rows(of: .delivery).map(\.id))
    @Sendable func find(_ database: Database, of owner: Epoch?) throws -> Int64? {
      let rows = try Row.fetchCursor(database.prepared(.pendingTimes), arguments: [owner])
      while let row = try rows.next() {
        guard unreadable.isEmpty || !unreadable.contains(StoredTable.delivery.name(of: row)) else { continue }
        return row[.nextAttempt]
      }
      return nil
    }
    let owner = queue.part
    let times = [
      try await databases.readDisk { try find($0, of: owner) },
      !databases.hasEphemeralSessions ? nil : try await databases.readMemory { try find($0, of: nil) },
    ]
    return times.compactMap { $0 }.min().map { Timestamp(microseconds: $0) }
  }
}

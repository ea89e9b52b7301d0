internal import FoundationEssentials
internal import GRDB
package import Ledger
package import TransferModel

/// The messages to webhooks.
extension SQLiteLedger {
  package func hasPendingDelivery(_ task: TaskID) async throws(StoreError) -> Bool {
    try await readers.read { database in
      try Bool.fetchOne(database.prepared(.hasPendingDelivery), arguments: [Data(task.bytes)])
    } ?? false
  }

  package func dueDeliveries(at time: Timestamp, limit: Int) async throws(StoreError) -> [WebhookDelivery] {
    let queries = [
      (Query.dueDeliveries, time),
      // That a clock was put right by a little is nothing to go by.
      (.triedDeliveries, time.adding(seconds: 60)),
    ]
    let reader = readers.reader(of: .delivery)
    let owner = queue.part
    return try await readers.read { database in
      var due: [WebhookDelivery] = []
      for (query, time) in queries where due.count < limit {
        due += try reader.all(database, query, [time.microseconds, owner], limit: limit - due.count) {
          row throws(UnreadableRow) in try WebhookDelivery(row)
        }
      }
      return due
    }
  }

  package func pendingBackgroundDeliveries() async throws(StoreError) -> [PendingDelivery] {
    let reader = readers.reader(of: .delivery)
    return try await readers.read { database in
      try reader.all(database, .pendingBackgroundDeliveries) { row throws(UnreadableRow) in
        let delivery = try WebhookDelivery(row)
        return PendingDelivery(id: delivery.id, sessionID: delivery.sessionID, type: delivery.type)
      }
    }
  }

  package func nextDeliveryTime() async throws(StoreError) -> Timestamp? {
    // They are never due.
    let unreadable = Set(readers.unreadable.rows(of: .delivery).map(\.id))
    let owner = queue.part
    return try await readers.read { database in
      let rows = try Row.fetchCursor(database.prepared(.pendingTimes), arguments: [owner])
      while let row = try rows.next() {
        guard unreadable.isEmpty || !unreadable.contains(StoredTable.delivery.name(of: row)) else { continue }
        return Timestamp(microseconds: row[.nextAttempt])
      }
      return nil
    }
  }
}

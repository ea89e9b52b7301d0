internal import FoundationEssentials
internal import GRDB
package import Ledger
package import TransferModel

/// The deliveries to webhooks.
extension SQLiteLedger {
  package func hasPendingDelivery(_ task: TaskID) async throws(LedgerError) -> Bool {
    try await readers.read { database in
      try Bool.fetchOne(database.prepared(.hasPendingDelivery), arguments: [Data(task.bytes)])
    } ?? false
  }

  package func dueDeliveries(at time: Timestamp, limit: Int) async throws(LedgerError) -> [WebhookDelivery] {
    let queries = [
      (Query.dueDeliveries, time),
      // A small correction of the clock does not make a delivery due.
      (.triedDeliveries, time.adding(seconds: 60)),
    ]
    let reader = readers.reader(of: .delivery)
    let owner = queue.ownerFilter
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

  package func pendingBackgroundDeliveries() async throws(LedgerError) -> [PendingDelivery] {
    let reader = readers.reader(of: .delivery)
    return try await readers.read { database in
      try reader.all(database, .pendingBackgroundDeliveries) { row throws(UnreadableRow) in
        let delivery = try WebhookDelivery(row)
        return PendingDelivery(id: delivery.id, sessionID: delivery.sessionID, type: delivery.type)
      }
    }
  }

  package func nextDeliveryTime() async throws(LedgerError) -> Timestamp? {
    // Unreadable deliveries are never due.
    let unreadable = Set(readers.unreadable.rows(of: .delivery).map(\.id))
    let owner = queue.ownerFilter
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

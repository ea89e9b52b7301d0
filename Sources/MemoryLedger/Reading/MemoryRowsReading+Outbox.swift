package import Ledger
package import TransferModel

/// The deliveries to webhooks.
extension MemoryRowsReading {
  package func hasPendingDelivery(_ task: TaskID) async throws(LedgerError) -> Bool {
    try read { $0.rows.deliveries.hasPending(of: task) }
  }

  package func dueDeliveries(at time: Timestamp, limit: Int) async throws(LedgerError) -> [WebhookDelivery] {
    try read { $0.dueDeliveries(at: time, limit: limit, of: epoch) }
  }

  package func pendingBackgroundDeliveries() async throws(LedgerError) -> [PendingDelivery] {
    try read { $0.pendingBackgroundDeliveries() }
  }

  package func nextDeliveryTime() async throws(LedgerError) -> Timestamp? {
    try read { $0.nextDeliveryTime(of: epoch) }
  }
}

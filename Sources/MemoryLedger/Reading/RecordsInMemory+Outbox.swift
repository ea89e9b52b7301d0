package import Ledger
package import TransferModel

/// The messages to webhooks.
extension RecordsInMemory {
  package func hasPendingDelivery(_ task: TaskID) async throws(StoreError) -> Bool {
    try read { $0.rows.deliveries.hasPending(of: task) }
  }

  package func dueDeliveries(at time: Timestamp, limit: Int) async throws(StoreError) -> [WebhookDelivery] {
    try read { $0.dueDeliveries(at: time, limit: limit, of: epoch) }
  }

  package func pendingBackgroundDeliveries() async throws(StoreError) -> [PendingDelivery] {
    try read { $0.pendingBackgroundDeliveries() }
  }

  package func nextDeliveryTime() async throws(StoreError) -> Timestamp? {
    try read { $0.nextDeliveryTime(of: epoch) }
  }
}

package import Ledger
package import TransferModel

/// The messages to webhooks.
extension MemoryLedger {
  package func hasPendingDelivery(_ task: TaskID) async throws(StoreError) -> Bool {
    try find { $0.rows.deliveries.pendingOfTask[task] == nil ? nil : true } ?? false
  }

  package func dueDeliveries(at time: Timestamp, limit: Int) async throws(StoreError) -> [WebhookDelivery] {
    let durable = try readDisk { $0.dueDeliveries(at: time, limit: limit, of: epoch) }
    guard hasEphemeralSessions else { return durable }
    let all = durable + (try readOwn { $0.dueDeliveries(at: time, limit: limit, of: nil) })
    return Array(all.sorted { $0.nextAttemptAt < $1.nextAttemptAt }.prefix(limit))
  }

  package func pendingBackgroundDeliveries() async throws(StoreError) -> [PendingDelivery] {
    try readDisk { $0.pendingBackgroundDeliveries() }
  }

  package func nextDeliveryTime() async throws(StoreError) -> Timestamp? {
    let times = [
      try readDisk { $0.nextDeliveryTime(of: epoch) },
      hasEphemeralSessions ? try readOwn { $0.nextDeliveryTime(of: nil) } : nil,
    ]
    return times.compactMap { $0 }.min()
  }
}

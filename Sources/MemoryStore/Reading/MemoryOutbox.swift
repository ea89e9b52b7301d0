internal import TransferModel
internal import TransferStore

/// The messages to webhooks.
struct MemoryOutbox: OutboxRecords {
  let store: MemoryStore

  func hasPendingDelivery(_ task: TaskID) async throws(StoreError) -> Bool {
    try store.find { $0.rows.deliveries.pendingOfTask[task] == nil ? nil : true } ?? false
  }

  func dueDeliveries(at time: Timestamp, limit: Int) async throws(StoreError) -> [WebhookDelivery] {
    let durable = try store.readDisk { $0.dueDeliveries(at: time, limit: limit, of: store.epoch) }
    guard store.hasEphemeralSessions else { return durable }
    let all = durable + (try store.readOwn { $0.dueDeliveries(at: time, limit: limit, of: nil) })
    return Array(all.sorted { $0.nextAttemptAt < $1.nextAttemptAt }.prefix(limit))
  }

  func pendingBackgroundDeliveries() async throws(StoreError) -> [PendingDelivery] {
    try store.readDisk { $0.pendingBackgroundDeliveries() }
  }

  func nextDeliveryTime() async throws(StoreError) -> Timestamp? {
    let times = [
      try store.readDisk { $0.nextDeliveryTime(of: store.epoch) },
      store.hasEphemeralSessions ? try store.readOwn { $0.nextDeliveryTime(of: nil) } : nil,
    ]
    return times.compactMap { $0 }.min()
  }
}

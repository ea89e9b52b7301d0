package import Ledger
package import TransferModel

/// The deliveries to webhooks.
extension MemoryRowsReading {
  package func hasPendingDelivery(_ task: TaskID) async throws(LedgerError) -> Bool {
    try read { $0.rows.deliveries.hasPending(of: task) }
  }

  /// A hash without a key: the rows are in memory only.
  package func destination(of url: String, for tenant: Tenant) -> DestinationID {
    var hash: (UInt64, UInt64) = (0xCBF2_9CE4_8422_2325, 0x9E37_79B9_7F4A_7C15)
    for byte in (tenant.name + "\n" + Webhook.listed(url)).utf8 {
      hash = ((hash.0 ^ UInt64(byte)) &* 0x100_0000_01B3, (hash.1 &+ UInt64(byte)) &* 0x2545_F491_4F6C_DD1D)
    }
    return DestinationID(high: hash.0, low: hash.1)
  }

  package func pendingDestinations(
    after: DestinationID?, limit: Int
  ) async throws(LedgerError) -> [PendingDestination] {
    try read { $0.rows.deliveries.pendingDestinations(after: after, limit: limit) }
  }

  package func dueDeliveries(_ query: DueDeliveryQuery) async throws(LedgerError) -> DueDeliveries {
    try read { $0.dueDeliveries(query, of: epoch) }
  }

  package func delivery(_ id: DeliveryID) async throws(LedgerError) -> WebhookDelivery? {
    try read { reader throws(LedgerError) in try reader.delivery(id) }
  }

  package func deliveries(_ query: DeliveryQuery) async throws(LedgerError) -> [WebhookDelivery] {
    try read { $0.deliveries(query) }
  }

  package func endpoints() async throws(LedgerError) -> [WebhookEndpoint] { try read { $0.endpoints() } }

  package func pendingBackgroundDeliveries() async throws(LedgerError) -> [PendingDelivery] {
    try read { $0.pendingBackgroundDeliveries() }
  }
}

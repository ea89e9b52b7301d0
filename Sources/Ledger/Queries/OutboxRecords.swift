package import TransferModel

/// The deliveries to webhooks.
package protocol OutboxRecords: Sendable {
  /// Returns the pending deliveries that are due, the longest due first. A delivery whose last attempt lies more than a minute in the
  /// future is due as well: the clock was set back.
  func dueDeliveries(at time: Timestamp, limit: Int) async throws(LedgerError) -> [WebhookDelivery]
  /// Returns the pending deliveries of background sessions.
  func pendingBackgroundDeliveries() async throws(LedgerError) -> [PendingDelivery]
  func nextDeliveryTime() async throws(LedgerError) -> Timestamp?
  /// Returns whether a delivery for the task is pending.
  func hasPendingDelivery(_ task: TaskID) async throws(LedgerError) -> Bool
}

/// A pending delivery, without its payload.
package struct PendingDelivery: Sendable, Equatable {
  package let id: DeliveryID
  package let sessionID: SessionID
  package let type: EventType
  package init(id: DeliveryID, sessionID: SessionID, type: EventType) {
    self.id = id
    self.sessionID = sessionID
    self.type = type
  }
}

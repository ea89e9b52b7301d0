package import TransferModel

/// The messages to webhooks.
package protocol OutboxRecords: Sendable {
  /// The pending messages that are due, the longest due first. Messages whose last attempt lies more than a minute in the future are due
  /// as well: the clock was set back.
  func dueDeliveries(at time: Timestamp, limit: Int) async throws(StoreError) -> [WebhookDelivery]
  /// The pending messages of background sessions.
  func pendingBackgroundDeliveries() async throws(StoreError) -> [PendingDelivery]
  func nextDeliveryTime() async throws(StoreError) -> Timestamp?
  /// Whether a message of the task is yet to be delivered.
  func hasPendingDelivery(_ task: TaskID) async throws(StoreError) -> Bool
}

/// A pending message, without its bytes.
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

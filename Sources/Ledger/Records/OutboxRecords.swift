package import TransferModel

/// The messages to webhooks.
package protocol OutboxRecords: Sendable {
  /// Messages whose time has come, the longest due first; and behind them those that were tried more than a minute later than
  /// now: the clock was set back, and nobody waits for it to get there again.
  func dueDeliveries(at time: Timestamp, limit: Int) async throws(StoreError) -> [WebhookDelivery]
  /// The messages of background sessions that were not handed over yet.
  func pendingBackgroundDeliveries() async throws(StoreError) -> [PendingDelivery]
  func nextDeliveryTime() async throws(StoreError) -> Timestamp?
  /// Whether a message of the task is yet to be delivered.
  func hasPendingDelivery(_ task: TaskID) async throws(StoreError) -> Bool
}

/// A message that was not handed over yet, without its bytes.
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

package import TransferModel

/// The deliveries of webhook messages, and the tenants' webhook endpoints.
package protocol OutboxRecords: Sendable {
  /// Returns the destination of the messages to a URL.
  func destination(of url: String, for tenant: Tenant) -> DestinationID
  /// Returns a page of the destinations with pending deliveries, in the order of their ids.
  func pendingDestinations(after: DestinationID?, limit: Int) async throws(LedgerError)
    -> [PendingDestination]
  /// Returns the deliveries to a destination that are due, the longest due first. A delivery that waits for an earlier one is not due.
  func dueDeliveries(_ query: DueDeliveryQuery) async throws(LedgerError) -> DueDeliveries
  func delivery(_ id: DeliveryID) async throws(LedgerError) -> WebhookDelivery?
  /// Returns a page of a tenant's deliveries, in the order of their ids.
  func deliveries(_ query: DeliveryQuery) async throws(LedgerError) -> [WebhookDelivery]
  /// Returns the pending deliveries of background sessions.
  func pendingBackgroundDeliveries() async throws(LedgerError) -> [PendingDelivery]
  /// Returns whether a delivery for the task is pending.
  func hasPendingDelivery(_ task: TaskID) async throws(LedgerError) -> Bool
  /// Returns the endpoints of all tenants, in the order of their ids.
  func endpoints() async throws(LedgerError) -> [WebhookEndpoint]
}

/// The selection of deliveries that are due.
package struct DueDeliveryQuery: Sendable {
  package let destination: DestinationID
  package let time: Timestamp
  package let limit: Int
  /// Deliveries that are already in memory.
  package var excluded: Set<DeliveryID>
  /// Whether a delivery is also due if its last attempt lies more than a minute in the future. The clock was then set back.
  package var includesFutureAttempts: Bool

  package init(
    to destination: DestinationID, at time: Timestamp, limit: Int, excluding excluded: Set<DeliveryID> = [],
    includingFutureAttempts: Bool = false
  ) {
    self.destination = destination
    self.time = time
    self.limit = limit
    self.excluded = excluded
    includesFutureAttempts = includingFutureAttempts
  }
}

/// The deliveries to a destination that are due.
package struct DueDeliveries: Sendable, Equatable {
  package var deliveries: [WebhookDelivery]
  /// Whether no other delivery is due.
  package var isLast: Bool
  /// The next attempt of the deliveries that are not due and not excluded; `nil` if there are none.
  package var nextAttemptAt: Timestamp?

  package init(_ deliveries: [WebhookDelivery], isLast: Bool, nextAttemptAt: Timestamp?) {
    self.deliveries = deliveries
    self.isLast = isLast
    self.nextAttemptAt = nextAttemptAt
  }
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

package import TransferModel

extension DeliveryQueue {
  /// A step that the shell carries out.
  package enum Action: Sendable {
    case attempt(WebhookDelivery)
    case load(DueDeliveryRequest)
    /// Reads a page of the destinations with pending deliveries.
    case scan(after: DestinationID?)
  }
  /// A page of messages to read.
  package struct DueDeliveryRequest: Sendable {
    package let destination: DestinationID
    package let limit: Int
    package let excluded: Set<DeliveryID>
    package let includesFutureAttempts: Bool
  }

  /// A page of messages that are due.
  package struct LoadedPage: Sendable {
    package let deliveries: [WebhookDelivery]
    package let isLast: Bool
    package let nextAttemptAt: Timestamp?
    package init(_ deliveries: [WebhookDelivery], isLast: Bool, nextAttemptAt: Timestamp?) {
      (self.deliveries, self.isLast, self.nextAttemptAt) = (deliveries, isLast, nextAttemptAt)
    }
  }
}

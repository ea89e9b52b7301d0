package import Ledger
package import TransferModel

extension WebhookDelivery {
  /// The destination of the samples' messages.
  package static let sampleDestination = DestinationID(high: 0xD, low: 0xE)

  package static func sample(
    id: DeliveryID, tenant: Tenant = .default, sessionID: SessionID, taskID: TaskID? = nil,
    type: EventType = .taskDidComplete, destination: DestinationID = sampleDestination,
    endpointID: EndpointID? = nil, webhook: Webhook? = Webhook(url: "http://a/", secret: nil),
    payload: [UInt8] = [1], createdAt: Timestamp, order: DeliveryOrder = .none
  ) -> WebhookDelivery {
    WebhookDelivery(
      id: id, tenant: tenant, sessionID: sessionID, taskID: taskID, type: type, destination: destination,
      endpointID: endpointID, webhook: webhook, payload: payload, createdAt: createdAt, order: order)
  }
}

extension OutboxRecords {
  /// Returns the deliveries to the samples' destination that are due.
  package func dueSamples(
    at time: Timestamp, limit: Int = 99, includingFutureAttempts: Bool = false
  ) async throws -> [WebhookDelivery] {
    try await dueDeliveries(
      DueDeliveryQuery(
        to: WebhookDelivery.sampleDestination, at: time, limit: limit,
        includingFutureAttempts: includingFutureAttempts)
    ).deliveries
  }

  /// Returns the next attempt of the deliveries to the samples' destination that are not due.
  package func nextSampleTime(after time: Timestamp) async throws -> Timestamp? {
    try await dueDeliveries(DueDeliveryQuery(to: WebhookDelivery.sampleDestination, at: time, limit: 99))
      .nextAttemptAt
  }
}

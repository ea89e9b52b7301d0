internal import TransferCore
internal import TransferModel

/// Makes the deliveries of events to the endpoints of their tenant.
struct EndpointDeliveries: Sendable {
  let registry: EndpointRegistry
  let identifiers: IdentifierSource
  /// Seconds before the first attempt.
  let firstDelay: Double

  /// Returns a delivery for each event and each endpoint that subscribes to its type, in the order of the events.
  func deliveries(of events: [TransferEvent], for tenant: Tenant) -> [WebhookDelivery] {
    let endpoints = registry.endpoints(of: tenant)
    guard !endpoints.isEmpty else { return [] }
    return events.flatMap { event -> [WebhookDelivery] in
      let subscribers = endpoints.filter { $0.subscribes(to: event.type) }
      guard !subscribers.isEmpty else { return [] }
      let payload = event.messagePayload(with: event.endedTask)
      return subscribers.map {
        delayed(WebhookDelivery(event, to: $0, id: identifiers.make(), payload: payload))
      }
    }
  }

  /// Returns the deliveries with the time of their first attempt.
  func delayed(_ delivery: WebhookDelivery) -> WebhookDelivery {
    guard firstDelay > 0 else { return delivery }
    var delivery = delivery
    delivery.nextAttemptAt = delivery.createdAt.adding(seconds: firstDelay)
    return delivery
  }
}

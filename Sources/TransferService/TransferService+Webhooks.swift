internal import Cluster
package import Ledger
package import TransferModel

/// The calls of the webhook dispatcher.
extension TransferService {
  /// Calls `receive` with new messages after their commit. Services that own the sessions of others get a notification.
  package func onNewDeliveries(_ receive: @escaping @Sendable ([WebhookDelivery]) -> Void) {
    runtime.recorder.newDeliveries.connect { [runtime, endpoints] deliveries in
      receive(deliveries)
      guard !runtime.cluster.isSingleNode else { return }
      let others = deliveries.filter {
        runtime.session($0.sessionID) == nil && !runtime.cluster.holds($0.sessionID.shard)
      }
      guard !others.isEmpty else { return }
      endpoints.spawn { await runtime.cluster.notify(.messages(others)) }
    }
  }

  package func onOutboxChange(_ notify: @escaping @Sendable (OutboxChange) -> Void) {
    runtime.recorder.outboxChanged.connect(notify)
  }

  /// Calls `notify` after each change of the webhook endpoints.
  package func onEndpointChange(_ notify: @escaping @Sendable () -> Void) {
    endpoints.registry.changed.connect(notify)
  }

  /// The webhook endpoints of all tenants.
  package var webhookEndpoints: [WebhookEndpoint] { endpoints.registry.all }

  package func pendingDestinations(
    after: DestinationID?, limit: Int
  ) async throws(ServiceError) -> [PendingDestination] {
    try await outbox.pendingDestinations(after: after, limit: limit)
  }

  package func dueDeliveries(_ query: DueDeliveryQuery) async throws(ServiceError) -> DueDeliveries {
    try await outbox.due(query)
  }

  /// Returns what an attempt needs, or why no request is made.
  package func preparation(of delivery: WebhookDelivery) -> DeliveryPreparation {
    outbox.preparation(of: delivery)
  }

  /// Notes that a delivery is about to be sent.
  package func willAttempt(_ delivery: WebhookDelivery) async { await outbox.willAttempt(delivery) }

  /// Applies a response as the delegate's answer.
  /// - Returns: `false` if the ledger cannot be written now.
  package func apply(_ answer: [UInt8], of delivery: WebhookDelivery) async -> Bool {
    await outbox.apply(answer, of: delivery)
  }

  /// Ends the pending messages of a task to a URL that refuses further ones, and returns them.
  package func abandoned(after gone: WebhookDelivery) async throws(ServiceError) -> [WebhookDelivery] {
    try await outbox.abandoned(after: gone)
  }

  /// Returns a delivery that is given up without a request.
  package func ended(_ delivery: WebhookDelivery, because reason: String) -> WebhookDelivery {
    outbox.ended(delivery, because: reason)
  }

  /// Notes the result of an attempt to an endpoint.
  package func noteAttempt(to id: EndpointID, succeeded: Bool, isGone: Bool, at time: Timestamp) {
    endpoints.note(id, succeeded: succeeded, isGone: isGone, at: time)
  }

  /// Records the results of attempts.
  /// - Parameter settled: called once for each session, after the commit, or with `false` if another service owns the session now.
  package func recordAttempts(
    _ deliveries: [WebhookDelivery],
    settled: @escaping @Sendable (_ deliveries: [WebhookDelivery], _ areWritten: Bool) -> Void
  ) {
    outbox.record(deliveries, settled: settled)
  }
}

// MARK: Clients

extension TenantView {
  /// - Returns: the rule that refuses a webhook's URL; `nil` if it is allowed.
  package func egressRule(against url: String) -> String? { service.egressRule(against: url) }

  package func endpoint(_ id: EndpointID) throws(ServiceError) -> WebhookEndpoint {
    try service.endpoints.endpoint(id, of: tenant)
  }

  package func endpoints() -> [WebhookEndpoint] { service.endpoints.registry.endpoints(of: tenant) }

  package func createEndpoint(
    _ settings: WebhookEndpoint.Settings, secret: [UInt8]?,
    reply: @Sendable (WebhookEndpoint) -> IdempotentReply?
  ) async throws(ServiceError) -> WebhookEndpoint {
    try await service.endpoints.create(settings, secret: secret, of: tenant, reply: reply)
  }

  package func changeEndpoint(
    _ id: EndpointID, _ body: (WebhookEndpoint) throws(ServiceError) -> WebhookEndpoint
  ) async throws(ServiceError) -> WebhookEndpoint {
    try await service.endpoints.change(id, of: tenant, body)
  }

  package func rotateKey(
    ofEndpoint id: EndpointID, secret: [UInt8]?, overlap: Double,
    reply: @Sendable (WebhookEndpoint) -> IdempotentReply?
  ) async throws(ServiceError) -> WebhookEndpoint {
    try await service.endpoints.rotateKey(
      of: id, tenant: tenant, secret: secret, overlap: overlap, reply: reply)
  }

  package func deleteEndpoint(_ id: EndpointID) async throws(ServiceError) {
    let endpoint = try await service.endpoints.delete(id, of: tenant)
    // Other services give up their messages when these are due.
    service.endpoints.spawn { [outbox = service.outbox] in
      try? await outbox.giveUpMessages(toDeleted: endpoint)
    }
  }

  package func testEndpoint(_ id: EndpointID) async throws(ServiceError) -> ShownDelivery {
    service.deliveries.shown(try await service.endpoints.test(id, of: tenant))
  }

  package func delivery(_ id: DeliveryID) async throws(ServiceError) -> ShownDelivery {
    service.deliveries.shown(try await service.deliveries.delivery(id, of: tenant))
  }

  package func deliveries(_ query: DeliveryQuery) async throws(ServiceError) -> [ShownDelivery] {
    try await service.deliveries.page(query).map { service.deliveries.shown($0) }
  }

  package func redeliver(_ id: DeliveryID) async throws(ServiceError) -> ShownDelivery {
    service.deliveries.shown(try await service.deliveries.redeliver(id, of: tenant))
  }
}

internal import Cluster
internal import Crypto
internal import Ledger
internal import Logging
internal import TransferModel

/// Use cases of webhook endpoints.
struct Endpoints: Sendable {
  /// An endpoint that has failed for this many seconds is disabled.
  static let failureLimit = 5 * 86_400.0
  /// Failures are stored after this many seconds. A shorter disturbance costs no write.
  private static let storedAfter = 60.0

  let registry: EndpointRegistry
  let recorder: ChangeRecorder
  let sessions: Sessions
  let deliveries: EndpointDeliveries
  let identifiers: IdentifierSource
  let spawn: TaskSpawner
  let logger: Logger

  private var store: any Ledger { recorder.store }
  private var now: Timestamp { identifiers.now() }

  /// Reads the endpoints again, because another service may have changed them.
  func refresh() async throws(ServiceError) {
    do throws(LedgerError) {
      while true {
        let generation = registry.generation
        guard let changed = registry.replaceAll(try await store.endpoints(), since: generation) else {
          continue
        }
        return changed.isEmpty ? () : recorder.outboxChanged.deliver(.arrived(changed))
      }
    } catch {
      throw .store(error)
    }
  }

  /// Reads the endpoints again after commits of other services. Commits during a read cause one more.
  func refreshSoon() {
    guard registry.beginRefresh() else { return }
    spawn { repeat { await refreshNow() } while !registry.endRefresh() }
  }

  /// Reads the endpoints again, and logs an error.
  func refreshNow() async {
    do throws(ServiceError) { try await refresh() } catch {
      logger.warning("cannot read the webhook endpoints", metadata: ["error": "\(error)"])
    }
  }

  /// Applies a change that is committed, here and at the other services.
  private func apply(_ endpoint: WebhookEndpoint) async {
    registry.set(endpoint)
    await sessions.runtime.cluster.notify(.endpoints)
  }

  func endpoint(_ id: EndpointID, of tenant: Tenant) throws(ServiceError) -> WebhookEndpoint {
    guard let endpoint = registry.endpoint(id), endpoint.tenant == tenant else { throw .endpointNotFound }
    return endpoint
  }

  /// - Parameters:
  ///   - secret: a secret that the client supplies; `nil` for a new one.
  ///   - reply: makes the reply that is stored under the Idempotency-Key.
  func create(
    _ settings: WebhookEndpoint.Settings, secret: [UInt8]?, of tenant: Tenant,
    reply: @Sendable (WebhookEndpoint) -> IdempotentReply?
  ) async throws(ServiceError) -> WebhookEndpoint {
    guard registry.reservePlace(of: tenant) else { throw .tooManyEndpoints }
    defer { registry.releasePlace(of: tenant) }
    // Messages that concern no session belong to the shared session, which therefore must exist.
    _ = sessions.shared(of: tenant)
    var endpoint = WebhookEndpoint(
      id: identifiers.make(), tenant: tenant, createdAt: now, settings: settings,
      keys: [Self.key(settings.signature, secret)])
    endpoint.revision = 1
    var change = LedgerChange()
    change.endpoints = [endpoint]
    change.answer(reply(endpoint))
    try await recorder.write(change)
    await apply(endpoint)
    return endpoint
  }

  private static func key(_ scheme: SignatureScheme, _ secret: [UInt8]? = nil) -> SigningKey {
    switch scheme {
    case .v1:
      return SigningKey(.v1, secret ?? (0..<32).map { _ in .random(in: .min ... .max) })
    case .v1a:
      let key = Curve25519.Signing.PrivateKey()
      return SigningKey(
        .v1a, Array(key.rawRepresentation), publicKey: Array(key.publicKey.rawRepresentation))
    }
  }

  /// Changes an endpoint.
  /// - Parameter body: returns the endpoint after the change; throws if it refuses the present version.
  func change(
    _ id: EndpointID, of tenant: Tenant,
    reply: @Sendable (WebhookEndpoint) -> IdempotentReply? = { _ in nil },
    _ body: (WebhookEndpoint) throws(ServiceError) -> WebhookEndpoint
  ) async throws(ServiceError) -> WebhookEndpoint {
    let changed = try await recorder.write { () async throws(ServiceError) in
      try await refresh()
      let known = try endpoint(id, of: tenant)
      var endpoint = try body(known)
      endpoint.revision = known.revision + 1
      var change = LedgerChange()
      change.endpoints = [endpoint]
      change.conditions = [.endpointRevision(id, known.revision)]
      change.answer(reply(endpoint))
      if known.isEnabled, !endpoint.isEnabled { announce(endpoint, in: &change) }
      return (change, endpoint)
    }
    await apply(changed)
    return changed
  }

  /// Adds the event of an endpoint that was disabled.
  private func announce(_ endpoint: WebhookEndpoint, in change: inout LedgerChange) {
    let event = TransferEvent(
      .webhookEndpointDidDisable, at: now, session: .shared(of: endpoint.tenant),
      .endpointDisabled(
        endpoint.id, url: Webhook.listed(endpoint.settings.url), reason: endpoint.disabledReason ?? ""))
    change.events = [event]
    change.newDeliveries = deliveries.deliveries(of: [event], for: endpoint.tenant)
  }

  /// - Parameter overlap: the seconds for which the replaced key still signs.
  func rotateKey(
    of id: EndpointID, tenant: Tenant, secret: [UInt8]?, overlap: Double,
    reply: @Sendable (WebhookEndpoint) -> IdempotentReply?
  ) async throws(ServiceError) -> WebhookEndpoint {
    try await change(id, of: tenant, reply: reply) { known in
      var endpoint = known
      let end = now.adding(seconds: overlap)
      var old = known.signingKeys(at: now)
      for place in old.indices { old[place].expiresAt = min(old[place].expiresAt ?? end, end) }
      // Only the last two keys sign, so that the field stays short.
      endpoint.keys = [Self.key(known.settings.signature, secret)] + (overlap > 0 ? old.prefix(1) : [])
      return endpoint
    }
  }

  func delete(_ id: EndpointID, of tenant: Tenant) async throws(ServiceError) -> WebhookEndpoint {
    let endpoint = try endpoint(id, of: tenant)
    var change = LedgerChange()
    change.deletedEndpoints = [id]
    try await recorder.write(change)
    registry.remove(id)
    // Its pending messages are now given up.
    recorder.outboxChanged.deliver(.arrived([PendingDestination(endpoint.destination, of: tenant)]))
    await sessions.runtime.cluster.notify(.endpoints)
    return endpoint
  }

  /// Queues a message that tests an endpoint.
  func test(_ id: EndpointID, of tenant: Tenant) async throws(ServiceError) -> WebhookDelivery {
    let endpoint = try endpoint(id, of: tenant)
    guard endpoint.isEnabled else { throw .endpointDisabled }
    let event = TransferEvent(.webhookTest, at: now, session: sessions.shared(of: tenant), .none)
    let delivery = WebhookDelivery(
      event, to: endpoint, id: identifiers.make(), payload: event.messagePayload())
    var change = LedgerChange()
    change.newDeliveries = [delivery]
    change.owner = event.sessionID
    try await recorder.write(change)
    return delivery
  }

  // MARK: Results of attempts

  /// Notes the result of an attempt. A 410, or five days of failures, disable the endpoint. Only a stored `failingSince` counts,
  /// because another service may have had success meanwhile.
  func note(_ id: EndpointID, succeeded: Bool, isGone: Bool, at time: Timestamp) {
    guard let endpoint = registry.endpoint(id) else { return }
    guard !succeeded else {
      registry.noteSuccess(of: id)
      if endpoint.failingSince != nil { update(endpoint) { $0.failingSince = nil } }
      return
    }
    if isGone {
      update(endpoint) { $0.disabledReason = $0.disabledReason ?? "the endpoint replied 410 Gone" }
    } else if let since = endpoint.failingSince {
      guard time.since(since) >= Self.failureLimit else { return }
      update(endpoint) {
        guard $0.failingSince == since else { return }
        $0.disabledReason = $0.disabledReason ?? "all attempts have failed for five days"
      }
    } else {
      let since = registry.noteFailure(of: id, at: time)
      guard time.since(since) >= Self.storedAfter else { return }
      update(endpoint) {
        $0.failingSince = $0.failingSince ?? max(since, time.adding(seconds: -Self.longestGap))
      }
    }
  }

  /// The longest gap between stored failures of a failing endpoint, in seconds.
  private static let longestGap = 86_400.0

  private func update(
    _ endpoint: WebhookEndpoint, _ body: @escaping @Sendable (inout WebhookEndpoint) -> Void
  ) {
    spawn {
      // Many attempts may end before the first change is stored.
      if var known = registry.endpoint(endpoint.id) {
        let before = known
        body(&known)
        guard known != before else { return }
      }
      do throws(ServiceError) {
        _ = try await change(endpoint.id, of: endpoint.tenant) { known in
          var changed = known
          body(&changed)
          return changed
        }
      } catch {
        logger.warning(
          "cannot store the state of a webhook endpoint",
          metadata: ["endpoint": "\(endpoint.id)", "error": "\(error)"])
        // The dispatcher stopped after a 410.
        registry.changed.deliver()
      }
    }
  }
}

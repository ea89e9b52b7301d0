internal import Cluster
internal import Ledger
internal import TransferCore
internal import TransferModel
internal import TransferService

/// The webhook endpoints of tenants, and the messages that clients want again.
extension SimulatedWorld {
  private static let mostEndpoints = 4

  /// Creates, changes or deletes an endpoint, or sends a message again.
  func useEndpoints(_ luck: inout RandomSource) {
    let action = luck.below(10)
    guard action > 2, let story = luck.pick(chronicle.presentEndpoints) else { return createEndpoint(&luck) }
    switch action {
    case 3, 4: setEndpoint(story.endpoint, isEnabled: false)
    case 5: setEndpoint(story.endpoint, isEnabled: true)
    case 6: deleteEndpoint(story.endpoint)
    default: redeliver(&luck)
    }
  }

  private func createEndpoint(_ luck: inout RandomSource) {
    guard chronicle.presentEndpoints.count < Self.mostEndpoints else { return }
    let tenant = tenant(&luck)
    var settings = WebhookEndpoint.Settings(url: "http://endpoint.test/")
    settings.events = [.taskDidComplete, .webhookEndpointDidDisable]
    if luck.chance(600) { settings.events += [.taskDidCreate, .taskDidChangeState] }
    settings.order = luck.chance(200) ? .none : .task
    settings.maximumConcurrency = 1 + luck.below(4)
    let wanted = settings
    call(tenant, about: .session(.shared)) { view, _ in
      try await view.createEndpoint(wanted, secret: [1, 2, 3]) { _ in nil }
    } then: { [self] result in
      guard case .success(let endpoint) = result else { return }
      chronicle.acknowledge(endpoint, at: clock.wasSet ? nil : clock.now)
    }
  }

  func setEndpoint(_ endpoint: WebhookEndpoint, isEnabled: Bool) {
    chronicle.willChange(endpoint.id)
    call(endpoint.tenant, about: .session(.shared)) { view, _ in
      try await view.changeEndpoint(endpoint.id) { known in
        var changed = known
        changed.disabledReason = isEnabled ? nil : "by the client"
        if isEnabled { changed.failingSince = nil }
        return changed
      }
    } then: { [self] result in
      guard case .success(let endpoint) = result else { return }
      chronicle.acknowledge(endpoint, at: clock.wasSet ? nil : clock.now)
    }
  }

  private func deleteEndpoint(_ endpoint: WebhookEndpoint) {
    chronicle.willChange(endpoint.id)
    call(endpoint.tenant, about: .session(.shared)) { view, _ in
      try await view.deleteEndpoint(endpoint.id)
    } then: { _ in
    }
  }

  /// Sends a message again.
  /// - Parameter round: the round after the end of all faults; `nil` before.
  func redeliver(_ luck: inout RandomSource, round: Int? = nil) {
    guard let (id, session) = luck.pick(chronicle.knownDeliveries), !isGone(session) else { return }
    call(tenant(of: session), about: .session(session)) { view, _ in
      try await view.redeliver(id).delivery
    } then: { [self] result in
      guard case .success = result, !isGone(session) else { return }
      chronicle.awaited[id] = round
      guard chronicle.deliveries[id]?.wasRedelivered == false else { return }
      chronicle.violate(.toldBehindTheCommit, "a message is to be sent again, but that is not committed")
    }
  }
}

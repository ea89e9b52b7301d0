internal import JSON
internal import Synchronization
internal import TransferCore
internal import TransferEngine
package import TransferModel
internal import TransferStore

/// What background sessions tell of themselves: `session.handleEvents` wakes a client that does not listen, and
/// `session.didFinishEvents` says that it has everything.
///
/// The lock around the handovers is taken inside of the registry's, never around it.
extension TransferService {
  /// A session that is not yet known, or that an earlier process left, begins with nothing on its way.
  func openHandover(of session: TransferSession) {
    guard session.type == .background, session.state != .invalid else { return }
    handovers.withLock { $0[session.id] = Handover() }
  }

  /// Messages that an earlier process left in the outbox.
  func recoverHandovers() async throws(StoreError) {
    let pending = try await store.pendingBackgroundDeliveries()
    handovers.withLock { handovers in
      for delivery in pending {
        if delivery.type == .sessionHandleEvents {
          _ = handovers[delivery.sessionID]?.queue(wakeUp: delivery.id)
        }
        handovers[delivery.sessionID]?.queue(delivery.id)
      }
    }
  }

  /// These messages are about to be written.
  func noteQueued(_ deliveries: [WebhookDelivery]) {
    guard !deliveries.isEmpty else { return }
    handovers.withLock { handovers in
      guard !handovers.isEmpty else { return }
      for delivery in deliveries { handovers[delivery.sessionID]?.queue(delivery.id) }
    }
  }

  /// These are on their way no more: their sessions may have handed everything over.
  func noteSettled(_ deliveries: [WebhookDelivery]) {
    let sessions = handovers.withLock { handovers in
      guard !handovers.isEmpty else { return [SessionID]() }
      return deliveries.filter { handovers[$0.sessionID]?.settle($0.id) ?? false }.map(\.sessionID)
    }
    guard !sessions.isEmpty else { return }
    registry.withLock { registry in
      for session in sessions { finishEvents(of: session, &registry) }
    }
  }

  /// A background session's task has ended: its client is to hear when everything was handed over.
  func oweFinishedEvents(_ id: SessionID, _ registry: inout TransferRegistry, _ change: inout StoreChange) {
    guard var session = registry.sessions[id]?.session, session.type == .background,
      !session.owesFinishedEvents
    else { return }
    session.owesFinishedEvents = true
    registry.sessions[id]?.session = session
    change.sessions.append(session)
  }

  /// Tells `session.didFinishEvents` where every task has ended and every message was handed over.
  func finishEvents(of id: SessionID, _ registry: inout TransferRegistry) {
    guard let entry = registry.sessions[id], entry.session.owesFinishedEvents, entry.unfinished == 0,
      entry.session.state != .invalid, handovers.withLock({ $0[id]?.isDone ?? false })
    else { return }
    var session = entry.session
    session.owesFinishedEvents = false
    registry.sessions[id]?.session = session
    var change = StoreChange()
    change.sessions = [session]
    let event = TransferEvent(.sessionDidFinishEvents, at: now, session: id, .none)
    note([event], of: nil, in: session, into: &change)
    record(change)
  }

  /// What the outbox still has of the sessions that an earlier process left may have been the last.
  func finishEventsAfterRecovery() {
    registry.withLock { registry in
      for id in registry.sessions.keys { finishEvents(of: id, &registry) }
    }
  }

  /// Adds the message that wakes the client of a background session, unless it listens or is being woken already.
  func wake(_ session: TransferSession, at time: Timestamp, into change: inout StoreChange) {
    wake(session, at: time, into: &change) { $0.queue(wakeUp: $1) }
  }

  /// Adds another where something has happened while this one was being delivered.
  func wakeAgain(
    after delivery: WebhookDelivery, _ registry: inout TransferRegistry, into change: inout StoreChange
  ) {
    guard delivery.type == .sessionHandleEvents, delivery.state != .pending,
      let session = registry.sessions[delivery.sessionID]?.session
    else { return }
    wake(session, at: now, into: &change) { $0.replace(wakeUp: delivery.id, by: $1) }
  }

  private func wake(
    _ session: TransferSession, at time: Timestamp, into change: inout StoreChange,
    _ queue: (inout Handover, DeliveryID) -> Bool
  ) {
    guard session.type == .background, session.configuration.sessionSendsLaunchEvents,
      let webhook = session.delegate?.webhook, !hub.hasListeners(of: session)
    else { return }
    let id = identifiers.make(DeliveryID.self)
    let isQueued = handovers.withLock { handovers in
      guard var handover = handovers.removeValue(forKey: session.id) else { return false }
      defer { handovers[session.id] = handover }
      return queue(&handover, id)
    }
    guard isQueued else { return }
    change.newDeliveries.append(
      WebhookDelivery(
        id: id, sessionID: session.id, taskID: nil, type: .sessionHandleEvents, webhook: webhook,
        payload: DelegateNotifier.wakeUpPayload(session, at: time), createdAt: time))
  }

  /// A message is about to be sent. Returns when what has happened so far is on the disk: one that it wakes will look.
  package func willAttempt(_ delivery: WebhookDelivery) async {
    guard delivery.type == .sessionHandleEvents else { return }
    handovers.withLock { $0[delivery.sessionID]?.attempt(delivery.id) }
    await settleFacts()
  }
}

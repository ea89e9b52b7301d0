internal import TransferModel

/// The two events of background sessions: `session.handleEvents` wakes a client that has no open stream, and `session.didFinishEvents` says
/// that everything was delivered.
extension SessionMachine {
  /// Wakes the client after ends and challenges. After an end, the session also owes `session.didFinishEvents`.
  mutating func wakeClientIfNeeded(
    ended: Int, asked: Int, at now: InputContext, into effects: inout SessionEffects
  ) {
    let hasEnded = effects.ended.count > ended
    if hasEnded, !session.owesFinishedEvents {
      session.owesFinishedEvents = true
      effects.sessionRow = session
    }
    let isAsked = effects.newDecisions[asked...].contains { decision in
      if case .challenged = decision.event.payload { true } else { false }
    }
    if hasEnded || isAsked { wake(at: now, into: &effects) { $0.queue(wakeUp: $1) } }
  }

  /// Adds the message that wakes the client, unless the client has an open stream or such a message is pending.
  private mutating func wake(
    at now: InputContext, into effects: inout SessionEffects,
    _ queue: (inout PendingDeliveries, DeliveryID) -> Bool
  ) {
    guard session.configuration.sessionSendsLaunchEvents, session.delegate?.webhook != nil, !now.hasListeners,
      var pendingDeliveries
    else { return }
    let id = effects.identifiers.make(DeliveryID.self, at: now.wall)
    let isQueued = queue(&pendingDeliveries, id)
    self.pendingDeliveries = pendingDeliveries
    guard isQueued else { return }
    effects.messages.append(
      WebhookMessage(
        id: id, webhook: nil, createdAt: now.wall, content: .wakeUp(identifier: session.identifier)))
  }

  /// Removes messages that are no longer pending. Another message wakes the client if something happened during the delivery.
  mutating func settled(_ deliveries: [DeliveryID], at now: InputContext, into effects: inout SessionEffects)
  {
    for delivery in deliveries {
      wake(at: now, into: &effects) { $0.replace(wakeUp: delivery, by: $1) }
      _ = pendingDeliveries?.settle(delivery)
    }
    finishEvents(at: now, into: &effects)
  }

  /// Emits `session.didFinishEvents` if every task has ended and every message was delivered.
  mutating func finishEvents(at now: InputContext, into effects: inout SessionEffects) {
    guard session.owesFinishedEvents, unfinished == 0, session.state != .invalid,
      pendingDeliveries?.isDone == true
    else { return }
    session.owesFinishedEvents = false
    effects.sessionRow = session
    effects.emit(
      TransferEvent(.sessionDidFinishEvents, at: now.wall, session: session.id, .none), of: nil, in: session)
  }
}

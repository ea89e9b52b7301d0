internal import TransferModel

/// What background sessions tell of themselves: `session.handleEvents` wakes a client that does not listen, and
/// `session.didFinishEvents` says that it has everything.
extension SessionMachine {
  /// Ends, and challenges, wake the client; where a task has ended, it is to hear when everything was handed over.
  mutating func noteCalls(ended: Int, asked: Int, at now: Now, into turn: inout Turn) {
    let hasEnded = turn.ended.count > ended
    if hasEnded, !session.owesFinishedEvents {
      session.owesFinishedEvents = true
      turn.sessionRow = session
    }
    let isAsked = turn.inquiries[asked...].contains { inquiry in
      if case .challenged = inquiry.event.payload { true } else { false }
    }
    if hasEnded || isAsked { wake(at: now, into: &turn) { $0.queue(wakeUp: $1) } }
  }

  /// Adds the message that wakes the client, unless it listens or is being woken already.
  private mutating func wake(
    at now: Now, into turn: inout Turn, _ queue: (inout Handover, DeliveryID) -> Bool
  ) {
    guard session.configuration.sessionSendsLaunchEvents, session.delegate?.webhook != nil, !now.isHeard,
      var handover
    else { return }
    let id = turn.identifiers.make(DeliveryID.self, at: now.wall)
    let isQueued = queue(&handover, id)
    self.handover = handover
    guard isQueued else { return }
    turn.messages.append(
      Message(
        id: id, webhook: nil, createdAt: now.wall, content: .wakeUp(identifier: session.identifier)))
  }

  /// These messages are on their way no more: another wakes the client where something has happened while one was being delivered,
  /// and the session may have handed everything over.
  mutating func settled(_ deliveries: [DeliveryID], at now: Now, into turn: inout Turn) {
    for delivery in deliveries {
      wake(at: now, into: &turn) { $0.replace(wakeUp: delivery, by: $1) }
      _ = handover?.settle(delivery)
    }
    finishEvents(at: now, into: &turn)
  }

  /// Tells `session.didFinishEvents` where every task has ended and every message was handed over.
  mutating func finishEvents(at now: Now, into turn: inout Turn) {
    guard session.owesFinishedEvents, unfinished == 0, session.state != .invalid, handover?.isDone == true
    else { return }
    session.owesFinishedEvents = false
    turn.sessionRow = session
    turn.tell(
      TransferEvent(.sessionDidFinishEvents, at: now.wall, session: session.id, .none), of: nil, in: session)
  }
}

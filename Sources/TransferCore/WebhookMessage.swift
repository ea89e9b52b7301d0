package import TransferModel

/// A webhook message, before it is serialised.
package struct WebhookMessage: Sendable {
  package enum Content: Sendable {
    /// An event. The end of a task carries the whole task.
    case event(TransferEvent, TransferTask?)
    /// A wake-up call for the client (`session.handleEvents`).
    case wakeUp(identifier: String?)
  }

  package let id: DeliveryID
  /// The webhook; `nil` for that of the session's delegate, which the message does not repeat.
  package let webhook: Webhook?
  package let createdAt: Timestamp
  package let content: Content
  /// The decision that the endpoint's response answers.
  package var decision: DecisionID?

  package init(
    id: DeliveryID, webhook: Webhook?, createdAt: Timestamp, content: Content, decision: DecisionID? = nil
  ) {
    (self.id, self.webhook, self.createdAt) = (id, webhook, createdAt)
    (self.content, self.decision) = (content, decision)
  }
}

/// The webhooks that receive an event; `nil` stands for that of the session's delegate.
package enum Recipient {
  /// Returns the receivers of an event. The completion webhook receives the end of its task. The delegate's webhook receives the events
  /// that it selected and the decisions that it makes. In a background session, a completion handler replaces none of its calls.
  package static func list(
    of event: TransferEvent, task: TransferTask?, session: borrowing TransferSession
  ) -> [(webhook: Webhook?, answers: Bool)] {
    var found: [(Webhook?, Bool)] = []
    if let completion = task?.completion, event.type == .taskDidComplete { found.append((completion, false)) }
    guard let delegate = session.delegate(of: task), let webhook = delegate.webhook else { return found }
    let own = webhook == session.delegate?.webhook ? nil : webhook
    let isTaken =
      session.type != .background && task?.hasCompletionHandler == true
      && event.type.isReplacedByCompletionHandler
    // A decision that the webhook answers is sent to it even if its `events` do not include the type.
    if event.decision != nil, delegate.webhookAnswers {
      found.append((own, true))
    } else if delegate.events.contains(event.type), !isTaken {
      found.append((own, false))
    }
    return found
  }
}

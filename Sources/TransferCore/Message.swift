package import TransferModel

/// A message of a webhook, before it is written as bytes.
package struct Message: Sendable {
  package enum Content: Sendable {
    /// The event; the end of a task brings the task along.
    case event(TransferEvent, TransferTask?)
    /// It tells a client to come and see (`session.handleEvents`).
    case wakeUp(identifier: String?)
  }

  package let id: DeliveryID
  /// Nil: the webhook of the session's delegate, which the message does not repeat.
  package let webhook: Webhook?
  package let createdAt: Timestamp
  package let content: Content
  /// The decision that the reply to the message answers.
  package var decision: DecisionID?
}

/// The webhooks that receive an event; nil is that of the session's delegate.
package enum Addressee {
  /// The completion webhook hears of the end, and its task's delegate of what it wants to hear and of what it is to answer.
  package static func list(
    of event: TransferEvent, task: TransferTask?, session: borrowing TransferSession
  ) -> [(webhook: Webhook?, answers: Bool)] {
    var found: [(Webhook?, Bool)] = []
    if let completion = task?.completion, event.type == .taskDidComplete { found.append((completion, false)) }
    guard let delegate = session.delegate(of: task), let webhook = delegate.webhook else { return found }
    let own = webhook == session.delegate?.webhook ? nil : webhook
    let isTaken = task?.hasCompletionHandler == true && event.type.isTakenByCompletion
    // A call that the webhook is to answer reaches it whatever events it asked for.
    if event.decision != nil, delegate.webhookAnswers {
      found.append((own, true))
    } else if delegate.events.contains(event.type), !isTaken {
      found.append((own, false))
    }
    return found
  }
}

/// One message of the outbox: kept until it was taken or every attempt has failed.
package struct WebhookDelivery: Sendable, Equatable {
  package enum State: String, Sendable, CaseIterable {
    case pending, delivered, failed
  }

  package let id: DeliveryID
  package let sessionID: SessionID
  package let taskID: TaskID?
  package let type: EventType
  /// Nil: the webhook of its session's delegate.
  package let webhook: Webhook?
  /// The message's bytes, the same on every attempt.
  package let payload: [UInt8]
  package let createdAt: Timestamp
  /// The decision that the reply to the message answers.
  package let decisionID: DecisionID?
  package var state = State.pending
  /// Attempts made so far.
  package var attempts = 0
  /// When the last one ended; before the first, when the message was made.
  package var lastAttemptAt: Timestamp
  package var nextAttemptAt: Timestamp
  /// The last answer's status; nil where there was none.
  package var lastStatus: Int?
  package var lastError: String?
  /// When it was taken or given up.
  package var finishedAt: Timestamp?

  package init(
    id: DeliveryID, sessionID: SessionID, taskID: TaskID?, type: EventType, webhook: Webhook?,
    payload: [UInt8], createdAt: Timestamp, decisionID: DecisionID? = nil
  ) {
    self.id = id
    self.sessionID = sessionID
    self.taskID = taskID
    self.type = type
    self.webhook = webhook
    self.payload = payload
    self.createdAt = createdAt
    self.decisionID = decisionID
    lastAttemptAt = createdAt
    nextAttemptAt = createdAt
  }
}

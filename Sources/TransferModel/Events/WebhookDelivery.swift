/// A delivery of the outbox. It is pending until the endpoint accepts the message or every attempt has failed.
package struct WebhookDelivery: Sendable, Equatable {
  package enum State: String, Sendable, CaseIterable {
    case pending, delivered, failed
  }

  package let id: DeliveryID
  package let sessionID: SessionID
  package let taskID: TaskID?
  package let type: EventType
  /// The webhook; `nil` for that of the session's delegate.
  package let webhook: Webhook?
  /// The message's bytes, the same on every attempt.
  package let payload: [UInt8]
  package let createdAt: Timestamp
  /// The decision that the endpoint's response answers.
  package let decisionID: DecisionID?
  package var state = State.pending
  /// The attempts made so far.
  package var attempts = 0
  /// The end of the last attempt. Before the first, the creation of the message.
  package var lastAttemptAt: Timestamp
  package var nextAttemptAt: Timestamp
  /// The status of the last response; `nil` if there was none.
  package var lastStatus: Int?
  package var lastError: String?
  /// The time at which the message was delivered or given up.
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

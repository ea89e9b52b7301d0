internal import Limits

/// A message on its way to one destination. It is pending until the destination accepts it or every attempt has failed.
package struct WebhookDelivery: Sendable, Equatable {
  package enum State: String, Sendable, CaseIterable {
    case pending, delivered, failed
  }
  /// How a message relates to the earlier messages of its task to the same destination.
  package enum Place: Int, Sendable {
    /// It waits for no other message, and no other waits for it.
    case unordered
    /// It is the first pending message of its task.
    case first
    /// It waits for an earlier message.
    case waiting
    /// It waited for an earlier message and is now the first.
    case promoted
  }

  package let id: DeliveryID
  package let tenant: Tenant
  /// The session of the message. A message that concerns no session belongs to the tenant's shared session.
  package let sessionID: SessionID
  package let taskID: TaskID?
  package let type: EventType
  package let destination: DestinationID
  /// The endpoint that receives the message; `nil` for the webhook of a session or a task.
  package let endpointID: EndpointID?
  /// The webhook of the task; `nil` for that of the session's delegate, and for endpoints.
  package let webhook: Webhook?
  /// The message's bytes, the same on every attempt.
  package let payload: [UInt8]
  package let createdAt: Timestamp
  /// The decision that the response answers.
  package let decisionID: DecisionID?
  /// The ledger sets it when it writes the delivery.
  package var place: Place
  package var state = State.pending
  /// The number of attempts so far.
  package var attemptCount = 0
  /// The last attempts, oldest first.
  package private(set) var attempts: [DeliveryAttempt] = []
  /// The place of the next attempt in the schedule.
  package var schedulePlace = 0
  /// The end of the last attempt. Before the first, the creation of the message.
  package var lastAttemptAt: Timestamp
  package var nextAttemptAt: Timestamp
  /// The time at which the message was delivered or given up.
  package var finishedAt: Timestamp?

  package init(
    id: DeliveryID, tenant: Tenant, sessionID: SessionID, taskID: TaskID? = nil, type: EventType,
    destination: DestinationID, endpointID: EndpointID? = nil, webhook: Webhook? = nil, payload: [UInt8],
    createdAt: Timestamp, order: DeliveryOrder = .task, decisionID: DecisionID? = nil
  ) {
    self.id = id
    self.tenant = tenant
    self.sessionID = sessionID
    self.taskID = taskID
    self.type = type
    self.destination = destination
    self.endpointID = endpointID
    self.webhook = webhook
    self.payload = payload
    self.createdAt = createdAt
    self.decisionID = decisionID
    place = order == .task && taskID != nil ? .first : .unordered
    lastAttemptAt = createdAt
    nextAttemptAt = createdAt
  }

  /// Seconds before each attempt (Standard Webhooks' recommended schedule).
  package static let standardDelays: [Double] = [
    0, 5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400,
  ]

  /// The task whose messages to this destination are sent in order; `nil` if this message has no order.
  package var orderedTask: TaskID? { place == .unordered ? nil : taskID }

  /// The time from which the next message of the task is due. That message may be younger than a clock that was set back.
  package var promotionTime: Timestamp { finishedAt ?? nextAttemptAt }

  /// Adds an attempt, and drops the oldest ones above the limit.
  package mutating func record(_ attempt: DeliveryAttempt) {
    attemptCount += 1
    attempts.append(attempt)
    attempts.removeFirst(max(0, attempts.count - Limits.keptAttempts.value))
    lastAttemptAt = attempt.time
  }

  /// Ends the delivery.
  package mutating func finish(_ state: State, at time: Timestamp) {
    self.state = state
    finishedAt = time
  }

  /// Makes the message pending again at a client's request. It then has no order.
  package mutating func redeliver(at time: Timestamp) {
    (state, finishedAt, schedulePlace, nextAttemptAt) = (.pending, nil, 0, time)
    place = .unordered
  }

  /// Restores the attempts of a stored delivery.
  package mutating func restore(_ attempts: [DeliveryAttempt], count: Int) {
    (self.attempts, attemptCount) = (attempts, count)
  }
}

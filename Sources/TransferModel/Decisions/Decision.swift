package import JSON

/// A decision that Ferry requests from a delegate.
package struct Decision: Sendable, Equatable {
  package enum State: String, Sendable, CaseIterable {
    case pending, answered
    /// The decision got no answer in time, so the default was applied.
    case expired
    /// The task ended or was cancelled first.
    case withdrawn
  }

  package let id: DecisionID
  /// The type of the event that announced the decision.
  package let type: EventType
  package let sessionID: SessionID
  package let taskID: TaskID
  package let createdAt: Timestamp
  package let expiresAt: Timestamp
  /// The effect if the decision expires.
  package let defaultAnswer: String
  /// The event's arguments as a JSON object.
  package let arguments: [UInt8]
  /// The number of the decision within its task; `nil` if the service itself requested it.
  package let question: Int?
  package var state = State.pending
  /// The answer as JSON, without secrets.
  package var answer: [UInt8]?
  /// If the answer had secrets, a digest that distinguishes it from others. The digest is useless without the service's key.
  package var answerTag: [UInt8]?

  package init(
    id: DecisionID, type: EventType, sessionID: SessionID, taskID: TaskID, createdAt: Timestamp,
    expiresAt: Timestamp, defaultAnswer: String, arguments: [UInt8], question: Int? = nil
  ) {
    self.id = id
    self.type = type
    self.sessionID = sessionID
    self.taskID = taskID
    self.createdAt = createdAt
    self.expiresAt = expiresAt
    self.defaultAnswer = defaultAnswer
    self.arguments = arguments
    self.question = question
  }
}

extension Decision: JSONEncodable {
  package func encode(into writer: inout JSONWriter) {
    writer.object { writer in
      writer.field("id", id)
      writer.field("type", type.rawValue)
      writer.field("state", state.rawValue)
      writer.field("sessionId", sessionID)
      writer.field("taskId", taskID)
      writer.field("createdAt", createdAt)
      writer.field("expiresAt", expiresAt)
      writer.field("default", defaultAnswer)
      writer.key("data")
      writer.raw(arguments)
      writer.key("answer")
      if let answer { writer.raw(answer) } else { writer.null() }
    }
  }
}

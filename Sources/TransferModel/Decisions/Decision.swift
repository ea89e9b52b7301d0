package import JSON

/// A delegate call that waits for an answer.
package struct Decision: Sendable, Equatable {
  package enum State: String, Sendable, CaseIterable {
    case pending, answered
    /// Nobody answered in time: what the default says was done.
    case expired
    /// The task ended first, or was cancelled.
    case withdrawn
  }

  package let id: DecisionID
  /// The event that told of it.
  package let type: EventType
  package let sessionID: SessionID
  package let taskID: TaskID
  package let createdAt: Timestamp
  package let expiresAt: Timestamp
  /// What is done where nobody answers.
  package let defaultAnswer: String
  /// The event's arguments, a JSON object.
  package let arguments: [UInt8]
  /// The number of the question among the task's; nil if the service itself asked.
  package let question: Int?
  package var state = State.pending
  /// The answer as it was given, JSON; without a secret that was in it.
  package var answer: [UInt8]?
  /// Where there was one: what tells the same answer from another, and nothing to who has not the service's key.
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

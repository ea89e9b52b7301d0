package import TransferModel

/// The outcome of a decision.
package struct SettledDecision: Sendable, Equatable {
  package let id: DecisionID
  package let sessionID: SessionID
  package let state: Decision.State
  /// The answer as clients see it; `nil` if no client answered.
  package let answer: [UInt8]?
  /// The tag that distinguishes answers with secrets, which clients see redacted.
  package let answerTag: [UInt8]?

  package init(
    id: DecisionID, session: SessionID, state: Decision.State, answer: [UInt8]? = nil,
    answerTag: [UInt8]? = nil
  ) {
    self.id = id
    self.sessionID = session
    self.state = state
    self.answer = answer
    self.answerTag = answerTag
  }

  package init(_ decision: Decision) {
    self.init(
      id: decision.id, session: decision.sessionID, state: decision.state, answer: decision.answer,
      answerTag: decision.answerTag)
  }
}

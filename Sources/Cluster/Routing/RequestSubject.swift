package import TransferModel

/// The subject of a request, whose owner carries out the request.
package enum RequestSubject: Sendable {
  case session(SessionID)
  case task(TaskID)
  case decision(DecisionID)
  /// A session to be created.
  /// - Parameters:
  ///   - name: the name of a background session.
  ///   - key: the Idempotency-Key under which the client may repeat the request.
  case newSession(name: String?, key: IdempotencyKey?)

  /// Parses the id of a session, task or decision. `nil` for other texts.
  init?(id text: String) {
    if let id = SessionID(text) {
      self = .session(id)
    } else if let id = TaskID(text) {
      self = .task(id)
    } else if let id = DecisionID(text) {
      self = .decision(id)
    } else {
      return nil
    }
  }

  /// The id as in paths; `nil` for a session to be created.
  var id: String? {
    switch self {
    case .session(let id): id.description
    case .task(let id): id.description
    case .decision(let id): id.description
    case .newSession: nil
    }
  }
}

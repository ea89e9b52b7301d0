package import TransferModel

/// The thing that a request concerns: its session's owner carries the request out.
package enum Subject: Sendable {
  case session(SessionID)
  case task(TaskID)
  case decision(DecisionID)
  /// A session to be created.
  /// - Parameters:
  ///   - name: of a background session.
  ///   - key: under which the client may repeat the request.
  case newSession(name: String?, key: IdempotencyKey?)

  /// Reads the id of a session, task or decision; nil if it is none of them.
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

  /// The id, as paths have it; nil for a session to be created.
  var id: String? {
    switch self {
    case .session(let id): id.description
    case .task(let id): id.description
    case .decision(let id): id.description
    case .newSession: nil
    }
  }
}

/// Whose events are asked for.
package enum EventScope: Sendable, Hashable {
  case all
  case session(SessionID)
  case task(TaskID)

  package func contains(session: SessionID, task: TaskID) -> Bool {
    switch self {
    case .all: true
    case .session(let id): id == session
    case .task(let id): id == task
    }
  }
}

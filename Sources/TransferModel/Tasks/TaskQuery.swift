/// A page of a session's tasks, oldest first.
package struct TaskQuery: Sendable {
  package var session: SessionID
  package var kind: TaskKind?
  package var state: TaskState?
  package var after: TaskID?
  package var limit: Int

  package init(
    session: SessionID, kind: TaskKind? = nil, state: TaskState? = nil, after: TaskID? = nil, limit: Int
  ) {
    self.session = session
    self.kind = kind
    self.state = state
    self.after = after
    self.limit = limit
  }
}

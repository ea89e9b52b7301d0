/// Whose events are asked for.
package enum EventScope: Sendable, Hashable {
  case all
  case session(SessionID)
  case task(TaskID)
}

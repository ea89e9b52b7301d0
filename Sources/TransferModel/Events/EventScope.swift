/// The sessions and tasks whose events a reader receives.
package enum EventScope: Sendable, Hashable {
  /// All sessions of a tenant.
  case tenant(Tenant)
  case session(SessionID)
  case task(TaskID)

  /// - Parameter tenant: the session's tenant.
  package func contains(task: TaskID, session: SessionID, of tenant: Tenant?) -> Bool {
    switch self {
    case .tenant(let wanted): wanted == tenant
    case .session(let id): id == session
    case .task(let id): id == task
    }
  }
}

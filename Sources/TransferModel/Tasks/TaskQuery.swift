/// The order of a list.
package enum ListOrder: String, Sendable, CaseIterable {
  case oldest, newest

  /// Returns whether the first of two ids, which grow with time, precedes the second.
  package func isAscending<Kind>(_ first: ID<Kind>, _ second: ID<Kind>) -> Bool {
    self == .oldest ? first < second : first > second
  }
}

/// A page of tasks.
package struct TaskQuery: Sendable {
  /// The owner of the tasks.
  package enum Scope: Sendable, Equatable {
    case session(SessionID)
    case tenant(Tenant)
  }

  package var scope: Scope
  /// The tenant of the tasks. Groups and labels belong to a tenant.
  package var tenant: Tenant
  package var filter: TaskFilter
  /// The last task of the page before, or `nil` for the first page.
  package var after: TaskID?
  package var order: ListOrder
  /// The highest wanted id, or `nil` for no bound.
  package var last: TaskID?
  package var limit: Int
  /// Whether only the tasks of ephemeral sessions in this service's memory are wanted.
  package var isOfMemory = false

  package init(
    _ scope: Scope, of tenant: Tenant, _ filter: TaskFilter = TaskFilter(), after: TaskID? = nil,
    order: ListOrder = .oldest, limit: Int
  ) {
    (self.scope, self.tenant, self.filter) = (scope, tenant, filter)
    (self.after, self.order, self.limit) = (after, order, limit)
  }

  /// Creates a query for the tasks of a session, oldest first.
  package init(
    session: SessionID, kind: TaskKind? = nil, state: TaskState? = nil, after: TaskID? = nil, limit: Int
  ) {
    self.init(.session(session), of: .default, after: after, limit: limit)
    (filter.kind, filter.state) = (kind, state)
  }
}

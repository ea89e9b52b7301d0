package import Ledger
package import TransferModel

/// Groups of tasks.
extension MemoryRowsReading {
  package func group(_ key: TaskGroupKey) async throws(LedgerError) -> TaskGroup? {
    try read { $0.rows.groups[key] }
  }

  package func hasUnfinishedTasks(_ key: TaskGroupKey) async throws(LedgerError) -> Bool {
    try read { reader in
      reader.rows.tasksOfGroup[key].all().contains { reader.rows.unfinished.contains($0.key) }
    }
  }

  package func closedGroups(
    among keys: Set<TaskGroupKey>
  ) async throws(LedgerError) -> Set<TaskGroupKey> {
    try read { reader in keys.filter { reader.rows.groups[$0]?.closedAt != nil } }
  }

  package func counts(of key: TaskGroupKey) async throws(LedgerError) -> GroupCounts {
    try read { $0.rows.counts(of: key) }
  }

  package func counts(ofTenant tenant: Tenant) async throws(LedgerError) -> GroupCounts {
    try read { $0.rows.counts(ofTenant: tenant) }
  }

  package func sessions(of key: TaskGroupKey) async throws(LedgerError) -> [SessionID] {
    try read { reader in
      let tasks = reader.rows.tasksOfGroup[key].all()
      return Set(tasks.compactMap { reader.rows.tasks[$0.key]?.task.sessionID }).sorted()
    }
  }

  package func groups(
    of tenant: Tenant, after: TaskGroup?, order: ListOrder, limit: Int
  ) async throws(LedgerError) -> [TaskGroup] {
    func precedes(_ first: TaskGroup, _ second: TaskGroup) -> Bool {
      let places = [first, second].map { ($0.createdAt, $0.key.name) }
      return order == .oldest ? places[0] < places[1] : places[0] > places[1]
    }
    let found = try read { $0.rows.groups.values.filter { $0.key.tenant == tenant } }
    let rest = found.filter { group in after.map { precedes($0, group) } ?? true }
    return Array(rest.sorted(by: precedes).prefix(limit))
  }

  package func closedGroups() async throws(LedgerError) -> [TaskGroup] {
    try read { reader in
      reader.rows.groups.values.filter { $0.state == .closed }
        .sorted { ($0.key.tenant.name, $0.key.name) < ($1.key.tenant.name, $1.key.name) }
    }
  }
}

package import TransferModel

/// Groups of tasks. The creation of a task with a group creates the group as well, if it does not exist.
package protocol GroupRecords: Sendable {
  func group(_ key: TaskGroupKey) async throws(LedgerError) -> TaskGroup?
  /// Returns whether a task of the group has not ended. It reads one row, however many tasks the group has.
  func hasUnfinishedTasks(_ key: TaskGroupKey) async throws(LedgerError) -> Bool
  /// Returns those of the groups that accept no new tasks.
  func closedGroups(among keys: Set<TaskGroupKey>) async throws(LedgerError) -> Set<TaskGroupKey>
  /// Returns the counts of a group's tasks that have rows. A data task that became a download does not count.
  func counts(of key: TaskGroupKey) async throws(LedgerError) -> GroupCounts
  /// Returns the counts of a tenant's tasks that have rows, without their bytes.
  func counts(ofTenant tenant: Tenant) async throws(LedgerError) -> GroupCounts
  /// Returns the sessions of a group's tasks that have rows.
  func sessions(of key: TaskGroupKey) async throws(LedgerError) -> [SessionID]
  /// Returns a page of a tenant's groups, in the order of their creation.
  func groups(
    of tenant: Tenant, after: TaskGroup?, order: ListOrder, limit: Int
  ) async throws(LedgerError) -> [TaskGroup]
  /// Returns the groups of all tenants that are closed and not completed.
  func closedGroups() async throws(LedgerError) -> [TaskGroup]
}

internal import FoundationEssentials
internal import GRDB
package import Ledger
package import TransferModel

/// Groups of tasks.
extension SQLiteLedger {
  package func group(_ key: TaskGroupKey) async throws(LedgerError) -> TaskGroup? {
    let reader = readers.reader(of: .group)
    return try await readers.read { [hash = hash(of: key)] database in
      try reader.one(database, .group, [key.tenant.name, hash]) {
        row throws(UnreadableRow) in try TaskGroup(row)
      }
    }
  }

  package func hasUnfinishedTasks(_ key: TaskGroupKey) async throws(LedgerError) -> Bool {
    try await readers.read { [hash = hash(of: key)] database in
      try Bool.fetchOne(database.prepared(.unfinishedInGroup), arguments: [hash]) ?? false
    }
  }

  package func closedGroups(
    among keys: Set<TaskGroupKey>
  ) async throws(LedgerError) -> Set<TaskGroupKey> {
    try await readers.read { [box = readers.box] database in
      let statement = try database.prepared(.group)
      return try keys.filter { key in
        let hash = Data(box.names.name(group: key.name, of: key.tenant))
        let row = try Row.fetchOne(statement, arguments: [key.tenant.name, hash])
        return row.map { $0[.closed] as Int64? != nil } ?? false
      }
    }
  }

  package func counts(of key: TaskGroupKey) async throws(LedgerError) -> GroupCounts {
    try await readers.read { [hash = hash(of: key)] database in try GroupCounts(database, key: hash) }
  }

  package func counts(ofTenant tenant: Tenant) async throws(LedgerError) -> GroupCounts {
    try await readers.read { database in try GroupCounts(database, ofTenant: tenant) }
  }

  package func sessions(of key: TaskGroupKey) async throws(LedgerError) -> [SessionID] {
    try await readers.read { [hash = hash(of: key)] database in
      try Data.fetchAll(database.prepared(.sessionsOfGroup), arguments: [hash]).compactMap {
        SessionID(bytes: Array($0))
      }
    }
  }

  package func groups(
    of tenant: Tenant, after: TaskGroup?, order: ListOrder, limit: Int
  ) async throws(LedgerError) -> [TaskGroup] {
    let reader = readers.reader(of: .group)
    let start = order == .oldest ? Int64.min : .max
    let place: StatementArguments = [
      tenant.name, after?.createdAt.microseconds ?? start, after.map { hash(of: $0.key) } ?? Data(),
    ]
    return try await readers.read { database in
      try reader.all(
        database, order == .oldest ? .groupsOfTenant : .newestGroups, place, limit: limit
      ) { row throws(UnreadableRow) in try TaskGroup(row) }
    }
  }

  package func closedGroups() async throws(LedgerError) -> [TaskGroup] {
    let reader = readers.reader(of: .group)
    return try await readers.read { database in
      try reader.all(database, .closedGroups) { row throws(UnreadableRow) in try TaskGroup(row) }
    }
  }

  private func hash(of key: TaskGroupKey) -> Data {
    Data(readers.box.names.name(group: key.name, of: key.tenant))
  }
}

extension GroupCounts {
  /// Counts the tasks of a group.
  /// - Parameter key: the keyed hash of the group's name.
  init(_ database: Database, key: Data) throws {
    self.init()
    let rows = try Row.fetchCursor(database.prepared(.groupCounts), arguments: [key])
    while let row = try rows.next() {
      guard let state = TaskState(rawValue: row[.state]) else { continue }
      let result: String? = row[.result]
      add(
        row["number"], state, result.flatMap { TaskOutcome(rawValue: $0) }, sent: row[.sent],
        received: row[.received])
    }
  }

  /// Counts the tasks of a tenant. Those that succeeded are the rest of all, because no index has them.
  init(_ database: Database, ofTenant tenant: Tenant) throws {
    self.init()
    var all = 0
    let rows = try Row.fetchCursor(
      database.prepared(.tenantCounts), arguments: [tenant.name, tenant.name, tenant.name])
    while let row = try rows.next() {
      let number: Int = row["number"]
      if let state = (row[.state] as String?).flatMap({ TaskState(rawValue: $0) }) {
        let result: String? = row[.result]
        add(number, state, result.flatMap { TaskOutcome(rawValue: $0) }, sent: 0, received: 0)
      } else {
        all = number
      }
    }
    succeeded = max(0, all - tasks)
  }
}

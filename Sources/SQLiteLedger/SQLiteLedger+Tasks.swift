internal import FoundationEssentials
internal import GRDB
package import Ledger
package import TransferModel

/// Tasks with their decisions, small bodies and metrics.
extension SQLiteLedger {
  package func task(_ id: TaskID) async throws(LedgerError) -> TransferTask? {
    let reader = readers.reader(of: .task)
    return try await readers.read { database in
      try reader.one(database, .task, [Data(id.bytes)]) {
        row throws(UnreadableRow) in try TransferTask(row)
      }
    }
  }

  package func tasks(_ query: TaskQuery) async throws(LedgerError) -> [TransferTask] {
    let reader = readers.reader(of: .task)
    return try await readers.read { [box = readers.box] database in
      try reader.all(database, Query(listing: query), query.arguments(box), limit: query.limit) {
        row throws(UnreadableRow) in try TransferTask(row)
      }
    }
  }

  package func unfinishedTasks(after last: TransferTask?, limit: Int) async throws(LedgerError)
    -> [TransferTask]
  {
    let reader = readers.reader(of: .task)
    let place = [Data(last?.sessionID.bytes ?? []), Data(last?.id.bytes ?? [])]
    return try await readers.read { database in
      try reader.all(
        database, .unfinishedTasks, StatementArguments(place), limit: limit
      ) { row throws(UnreadableRow) in try TransferTask(row) }
    }
  }

  package func smallBody(of id: TaskID) async throws(LedgerError) -> [UInt8]? {
    let reader = readers.reader(of: .task)
    let body: [UInt8]?? = try await readers.read { database in
      try reader.one(database, .smallBody, [Data(id.bytes)]) {
        row throws(UnreadableRow) in try row.contentIfAny(.smallBody)
      }
    }
    return body ?? nil
  }

  package func metrics(of id: TaskID) async throws(LedgerError) -> [UInt8]? {
    let reader = readers.reader(of: .task)
    let metrics: [UInt8]?? = try await readers.read { database in
      try reader.one(database, .metrics, [Data(id.bytes)]) {
        row throws(UnreadableRow) in try row.contentIfAny(.metrics)
      }
    }
    return metrics ?? nil
  }

  package func decision(_ id: DecisionID) async throws(LedgerError) -> Decision? {
    let reader = readers.reader(of: .decision)
    return try await readers.read { database in
      try reader.one(database, .decision, [Data(id.bytes)]) {
        row throws(UnreadableRow) in try Decision(row)
      }
    }
  }

  package func decisions(
    of session: SessionID, state: Decision.State?, after: DecisionID?, order: ListOrder, limit: Int
  ) async throws(LedgerError) -> [Decision] {
    let reader = readers.reader(of: .decision)
    return try await readers.read { database in
      try reader.all(
        database, order == .oldest ? .decisionsOfSession : .newestDecisions,
        [Data(session.bytes), Data(after?.bytes ?? order.start), state?.rawValue], limit: limit
      ) { row throws(UnreadableRow) in try Decision(row) }
    }
  }

  package func bodyFiles(of session: SessionID) async throws(LedgerError) -> [TaskID] {
    try await readers.read { database in
      try Data.fetchAll(database.prepared(.bodyFilesOfSession), arguments: [Data(session.bytes)])
        .compactMap { TaskID(bytes: Array($0)) }
    }
  }

  package func hasTasks(_ session: SessionID) async throws(LedgerError) -> Bool {
    try await readers.read { database in
      try Bool.fetchOne(database.prepared(.hasTasks), arguments: [Data(session.bytes)]) ?? false
    }
  }

  package func hasBodyFile(_ id: TaskID) async throws(LedgerError) -> Bool {
    try await readers.read { database in
      try Bool.fetchOne(database.prepared(.hasBodyFile), arguments: [Data(id.bytes)])
    } ?? false
  }

  package func bodyFiles(among ids: [TaskID]) async throws(LedgerError) -> Set<TaskID> {
    try await readers.read { database in
      let statement = try database.prepared(.hasBodyFile)
      let found = try ids.filter { try Bool.fetchOne(statement, arguments: [Data($0.bytes)]) ?? false }
      return Set(found)
    }
  }

  /// Returns those of the tasks that exist.
  package func tasks(_ ids: [TaskID]) async throws(LedgerError) -> [TransferTask] {
    let reader = readers.reader(of: .task)
    return try await readers.read { database in
      try ids.flatMap { id in
        try reader.all(database, .task, [Data(id.bytes)]) {
          row throws(UnreadableRow) in try TransferTask(row)
        }
      }
    }
  }
}

package import Ledger
package import TransferModel

/// Tasks with their decisions, small bodies and metrics.
extension MemoryRowsReading {
  package func task(_ id: TaskID) async throws(LedgerError) -> TransferTask? {
    try read { reader throws(LedgerError) in try reader.task(id) }
  }

  package func tasks(_ query: TaskQuery) async throws(LedgerError) -> [TransferTask] {
    try read { $0.tasks(query) }
  }

  package func tasks(_ ids: [TaskID]) async throws(LedgerError) -> [TransferTask] {
    try read { $0.tasks(ids) }
  }

  package func unfinishedTasks(after last: TransferTask?, limit: Int) async throws(LedgerError)
    -> [TransferTask]
  {
    try read { reader in
      let places = reader.rows.unfinished.all().compactMap { id, _ in
        reader.rows.tasks[id].map { (session: $0.task.sessionID, task: id) }
      }
      let rest = places.sorted { $0 < $1 }.drop { place in
        last.map { place <= ($0.sessionID, $0.id) } ?? false
      }
      return reader.tasks(rest.map(\.task), limit: limit)
    }
  }

  package func smallBody(of id: TaskID) async throws(LedgerError) -> [UInt8]? {
    try read { $0.rows.tasks[id]?.smallBody }
  }

  package func metrics(of id: TaskID) async throws(LedgerError) -> [UInt8]? {
    try read { reader throws(LedgerError) in try reader.metrics(of: id) }
  }

  package func bodyFiles(of session: SessionID) async throws(LedgerError) -> [TaskID] {
    try read { reader in
      reader.rows.tasksOfSession[session].all().map(\.key)
        .filter { reader.rows.tasks[$0]?.hasBodyFile == true }
    }
  }

  package func hasTasks(_ session: SessionID) async throws(LedgerError) -> Bool {
    try read {
      !$0.rows.tasksOfSession[session].isEmpty || !$0.rows.journalOfSession[session].isEmpty
    }
  }

  package func hasBodyFile(_ id: TaskID) async throws(LedgerError) -> Bool {
    try read { $0.rows.tasks[id]?.hasBodyFile } ?? false
  }

  package func bodyFiles(among ids: [TaskID]) async throws(LedgerError) -> Set<TaskID> {
    try read { reader in Set(ids.filter { reader.rows.tasks[$0]?.hasBodyFile == true }) }
  }

  package func decision(_ id: DecisionID) async throws(LedgerError) -> Decision? {
    try read { reader throws(LedgerError) in try reader.decision(id) }
  }

  package func decisions(
    of session: SessionID, state: Decision.State?, after: DecisionID?, order: ListOrder, limit: Int
  ) async throws(LedgerError) -> [Decision] {
    try read { $0.decisions(of: session, state, after: after, order, limit: limit) }
  }
}

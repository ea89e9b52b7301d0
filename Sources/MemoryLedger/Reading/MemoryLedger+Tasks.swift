package import Ledger
package import TransferModel

/// Tasks, their decisions, and what they keep.
extension MemoryLedger {
  package func task(_ id: TaskID) async throws(StoreError) -> TransferTask? {
    try find { reader throws(StoreError) in try reader.task(id) }
  }

  package func tasks(_ query: TaskQuery) async throws(StoreError) -> [TransferTask] {
    try read(of: query.session) { $0.tasks(query) }
  }

  package func tasks(_ ids: [TaskID]) async throws(StoreError) -> [TransferTask] {
    try readDisk { $0.tasks(ids) }
  }

  package func unfinishedTasks(after last: TransferTask?, limit: Int) async throws(StoreError)
    -> [TransferTask]
  {
    try readDisk { reader in
      let places = reader.rows.unfinished.keys.compactMap { id in
        reader.rows.tasks[id].map { (session: $0.task.sessionID, task: id) }
      }
      let rest = places.sorted { $0 < $1 }.drop { place in
        last.map { place <= ($0.sessionID, $0.id) } ?? false
      }
      return reader.tasks(rest.map(\.task), limit: limit)
    }
  }

  package func smallBody(of id: TaskID) async throws(StoreError) -> [UInt8]? {
    try find { $0.rows.tasks[id]?.smallBody }
  }

  package func metrics(of id: TaskID) async throws(StoreError) -> [UInt8]? {
    try find { reader throws(StoreError) in try reader.metrics(of: id) }
  }

  package func bodyFiles(of session: SessionID) async throws(StoreError) -> [TaskID] {
    try read(of: session) { reader in
      reader.rows.tasksOfSession[session].filter { reader.rows.tasks[$0]?.hasBodyFile == true }
    }
  }

  package func hasTasks(_ session: SessionID) async throws(StoreError) -> Bool {
    try read(of: session) {
      !$0.rows.tasksOfSession[session].isEmpty || !$0.rows.journalOfSession[session].isEmpty
    }
  }

  package func hasBodyFile(_ id: TaskID) async throws(StoreError) -> Bool {
    try find { $0.rows.tasks[id]?.hasBodyFile } ?? false
  }

  package func bodyFiles(among ids: [TaskID]) async throws(StoreError) -> Set<TaskID> {
    try readDisk { reader in Set(ids.filter { reader.rows.tasks[$0]?.hasBodyFile == true }) }
  }

  package func decision(_ id: DecisionID) async throws(StoreError) -> Decision? {
    try find { reader throws(StoreError) in try reader.decision(id) }
  }

  package func decisions(
    of session: SessionID, state: Decision.State?, after: DecisionID?, limit: Int
  ) async throws(StoreError) -> [Decision] {
    try read(of: session) { $0.decisions(of: session, state, after: after, limit: limit) }
  }
}

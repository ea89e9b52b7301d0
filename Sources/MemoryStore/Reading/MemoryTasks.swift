internal import TransferModel
internal import TransferStore

/// Tasks, their decisions, and what they keep.
struct MemoryTasks: TaskRecords {
  let store: MemoryStore

  func task(_ id: TaskID) async throws(StoreError) -> TransferTask? {
    try store.find { reader throws(StoreError) in try reader.task(id) }
  }

  func tasks(_ query: TaskQuery) async throws(StoreError) -> [TransferTask] {
    try store.read(of: query.session) { $0.tasks(query) }
  }

  func tasks(_ ids: [TaskID]) async throws(StoreError) -> [TransferTask] {
    try store.readDisk { $0.tasks(ids) }
  }

  func unfinishedTasks(after last: TransferTask?, limit: Int) async throws(StoreError) -> [TransferTask] {
    try store.readDisk { reader in
      let places = reader.rows.unfinished.keys.compactMap { id in
        reader.rows.tasks[id].map { (session: $0.task.sessionID, task: id) }
      }
      let rest = places.sorted { $0 < $1 }.drop { place in
        last.map { place <= ($0.sessionID, $0.id) } ?? false
      }
      return reader.tasks(rest.map(\.task), limit: limit)
    }
  }

  func smallBody(of id: TaskID) async throws(StoreError) -> [UInt8]? {
    try store.find { $0.rows.tasks[id]?.smallBody }
  }

  func metrics(of id: TaskID) async throws(StoreError) -> [UInt8]? {
    try store.find { reader throws(StoreError) in try reader.metrics(of: id) }
  }

  func bodyFiles(of session: SessionID) async throws(StoreError) -> [TaskID] {
    try store.read(of: session) { reader in
      reader.rows.tasksOfSession[session].filter { reader.rows.tasks[$0]?.hasBodyFile == true }
    }
  }

  func hasTasks(_ session: SessionID) async throws(StoreError) -> Bool {
    try store.read(of: session) {
      !$0.rows.tasksOfSession[session].isEmpty || !$0.rows.journalOfSession[session].isEmpty
    }
  }

  func hasBodyFile(_ id: TaskID) async throws(StoreError) -> Bool {
    try store.find { $0.rows.tasks[id]?.hasBodyFile } ?? false
  }

  func bodyFiles(among ids: [TaskID]) async throws(StoreError) -> Set<TaskID> {
    try store.readDisk { reader in Set(ids.filter { reader.rows.tasks[$0]?.hasBodyFile == true }) }
  }

  func decision(_ id: DecisionID) async throws(StoreError) -> Decision? {
    try store.find { reader throws(StoreError) in try reader.decision(id) }
  }

  func decisions(
    of session: SessionID, state: Decision.State?, after: DecisionID?, limit: Int
  ) async throws(StoreError) -> [Decision] {
    try store.read(of: session) { $0.decisions(of: session, state, after: after, limit: limit) }
  }
}

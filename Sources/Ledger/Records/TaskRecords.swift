package import TransferModel

/// Tasks, their decisions, and what they keep.
package protocol TaskRecords: Sendable {
  func task(_ id: TaskID) async throws(StoreError) -> TransferTask?
  func tasks(_ query: TaskQuery) async throws(StoreError) -> [TransferTask]
  func tasks(_ ids: [TaskID]) async throws(StoreError) -> [TransferTask]
  /// A page of those that have not ended, session by session.
  func unfinishedTasks(after last: TransferTask?, limit: Int) async throws(StoreError) -> [TransferTask]
  func smallBody(of id: TaskID) async throws(StoreError) -> [UInt8]?
  /// The metrics of a finished task, as JSON.
  func metrics(of id: TaskID) async throws(StoreError) -> [UInt8]?
  func decision(_ id: DecisionID) async throws(StoreError) -> Decision?
  /// A page of a session's decisions, oldest first.
  func decisions(
    of session: SessionID, state: Decision.State?, after: DecisionID?, limit: Int
  ) async throws(StoreError) -> [Decision]
  func bodyFiles(of session: SessionID) async throws(StoreError) -> [TaskID]
  /// Those of the tasks whose bodies are files on the disk.
  func bodyFiles(among ids: [TaskID]) async throws(StoreError) -> Set<TaskID>
  /// Whether a session has tasks or events.
  func hasTasks(_ session: SessionID) async throws(StoreError) -> Bool
  func hasBodyFile(_ id: TaskID) async throws(StoreError) -> Bool
}

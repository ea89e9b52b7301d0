package import TransferModel

/// Tasks with their decisions, small bodies and metrics.
package protocol TaskRecords: Sendable {
  func task(_ id: TaskID) async throws(LedgerError) -> TransferTask?
  func tasks(_ query: TaskQuery) async throws(LedgerError) -> [TransferTask]
  func tasks(_ ids: [TaskID]) async throws(LedgerError) -> [TransferTask]
  /// Returns a page of unfinished tasks, session by session.
  func unfinishedTasks(after last: TransferTask?, limit: Int) async throws(LedgerError) -> [TransferTask]
  func smallBody(of id: TaskID) async throws(LedgerError) -> [UInt8]?
  /// Returns the metrics of a finished task, as JSON.
  func metrics(of id: TaskID) async throws(LedgerError) -> [UInt8]?
  func decision(_ id: DecisionID) async throws(LedgerError) -> Decision?
  /// Returns a page of a session's decisions.
  func decisions(
    of session: SessionID, state: Decision.State?, after: DecisionID?, order: ListOrder, limit: Int
  ) async throws(LedgerError) -> [Decision]
  func bodyFiles(of session: SessionID) async throws(LedgerError) -> [TaskID]
  /// Returns the tasks whose bodies are blobs.
  func bodyFiles(among ids: [TaskID]) async throws(LedgerError) -> Set<TaskID>
  /// Returns whether a session has tasks or events.
  func hasTasks(_ session: SessionID) async throws(LedgerError) -> Bool
  func hasBodyFile(_ id: TaskID) async throws(LedgerError) -> Bool
}

extension TaskRecords {
  /// Returns a page of a session's decisions, oldest first.
  package func decisions(
    of session: SessionID, state: Decision.State?, after: DecisionID?, limit: Int
  ) async throws(LedgerError) -> [Decision] {
    try await decisions(of: session, state: state, after: after, order: .oldest, limit: limit)
  }
}

package import TransferModel

/// Records that can expire.
package protocol RetentionRecords: Sendable {
  /// Returns finished tasks without a pending delivery, in the query's order.
  func finishedTasks(_ query: FinishedTaskQuery, limit: Int) async throws(LedgerError) -> [FinishedTask]
  /// Returns the number of bytes that finished tasks occupy.
  func keptBytes() async throws(LedgerError) -> Int64
  /// Returns expired records, at most `limit` of each kind.
  func staleRecords(_ ages: ExpiredRecords.Cutoffs, limit: Int) async throws(LedgerError) -> ExpiredRecords
  /// Returns the first rows of the journal.
  func oldestEvents(limit: Int) async throws(LedgerError) -> [JournalRowAge]
}

/// The ledger that has the records.
package enum StorageTier: Sendable {
  case durable
  /// This process's memory: the records of ephemeral sessions.
  case memory
}

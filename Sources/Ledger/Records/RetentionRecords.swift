package import TransferModel

/// Records that can expire.
package protocol RetentionRecords: Sendable {
  /// Finished tasks without a message that is yet to be delivered, in the query's order.
  func finishedTasks(_ query: FinishedTaskQuery, limit: Int) async throws(StoreError) -> [FinishedTask]
  /// The bytes that finished tasks left and that are kept.
  func keptBytes() async throws(StoreError) -> Int64
  /// Records that have expired, at most `limit` of each kind.
  func staleRecords(_ ages: StaleRecords.Ages, limit: Int) async throws(StoreError) -> StaleRecords
  /// The first rows of the journal.
  func oldestEvents(limit: Int) async throws(StoreError) -> [AgedEvents]
}

/// Where records are kept.
package enum RetainedPlace: Sendable {
  case durable
  /// This process's memory: the records of ephemeral sessions.
  case memory
}

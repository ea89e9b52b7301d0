package import TransferModel

/// What there is to take away.
package protocol RetentionRecords: Sendable {
  /// Finished tasks without a message that is yet to be delivered, in the query's order.
  func finishedTasks(_ query: FinishedTaskQuery, limit: Int) async throws(StoreError) -> [FinishedTask]
  /// Bytes of what all finished tasks left on the disk.
  func keptBytes() async throws(StoreError) -> Int64
  /// What is of no use to anyone any more, at most `limit` of each kind.
  func staleRecords(_ ages: StaleRecords.Ages, limit: Int) async throws(StoreError) -> StaleRecords
}

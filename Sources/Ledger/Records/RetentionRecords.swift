package import TransferModel

/// Records that can expire.
package protocol RetentionRecords: Sendable {
  /// Finished tasks without a message that is yet to be delivered, in the query's order.
  func finishedTasks(
    _ query: FinishedTaskQuery, in place: RetainedPlace, limit: Int
  ) async throws(StoreError) -> [FinishedTask]
  /// The bytes on disk that belong to finished tasks.
  func keptBytes() async throws(StoreError) -> Int64
  /// Records that have expired, at most `limit` of each kind.
  func staleRecords(
    _ ages: StaleRecords.Ages, in place: RetainedPlace, limit: Int
  ) async throws(StoreError) -> StaleRecords
}

extension RetentionRecords {
  package func finishedTasks(
    _ query: FinishedTaskQuery, limit: Int
  ) async throws(StoreError) -> [FinishedTask] {
    try await finishedTasks(query, in: .everywhere, limit: limit)
  }

  package func staleRecords(
    _ ages: StaleRecords.Ages, limit: Int
  ) async throws(StoreError) -> StaleRecords {
    try await staleRecords(ages, in: .everywhere, limit: limit)
  }
}

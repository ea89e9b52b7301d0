internal import TransferModel
internal import TransferStore

/// What there is to take away.
struct MemoryRetention: RetentionRecords {
  let store: MemoryStore

  func finishedTasks(
    _ query: FinishedTaskQuery, limit: Int
  ) async throws(StoreError) -> [FinishedTask] {
    let durable = try store.readDisk { AgedRows(reader: $0).finishedTasks(query, limit: limit) }
    // What is in memory has a limit of its own.
    if case .keeping = query { return durable }
    return store.hasEphemeralSessions
      ? durable + (try store.readOwn { AgedRows(reader: $0).finishedTasks(query, limit: limit) }) : durable
  }

  func keptBytes() async throws(StoreError) -> Int64 {
    try store.readDisk { AgedRows(reader: $0).keptBytes() }
  }

  func staleRecords(
    _ ages: StaleRecords.Ages, limit: Int
  ) async throws(StoreError) -> StaleRecords {
    var stale = try store.readDisk { AgedRows(reader: $0).staleRecords(ages, limit: limit) }
    guard store.hasEphemeralSessions else { return stale }
    let own = try store.readOwn { AgedRows(reader: $0).staleRecords(ages, limit: limit) }
    stale.deliveries += own.deliveries
    stale.decisions += own.decisions
    stale.replies += own.replies
    return stale
  }
}

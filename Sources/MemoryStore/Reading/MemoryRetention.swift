internal import TransferModel
internal import TransferStore

/// What there is to take away.
struct MemoryRetention: RetentionRecords {
  let store: MemoryStore

  func finishedTasks(
    _ query: FinishedTaskQuery, in place: RetainedPlace, limit: Int
  ) async throws(StoreError) -> [FinishedTask] {
    var found: [FinishedTask] = []
    if place == .everywhere {
      found = try store.readDisk { AgedRows(reader: $0).finishedTasks(query, limit: limit) }
    }
    // What is in memory has a limit of its own.
    if case .keeping = query { return found }
    if store.hasEphemeralSessions {
      found += try store.readOwn { AgedRows(reader: $0).finishedTasks(query, limit: limit) }
    }
    return found
  }

  func keptBytes() async throws(StoreError) -> Int64 {
    try store.readDisk { AgedRows(reader: $0).keptBytes() }
  }

  func staleRecords(
    _ ages: StaleRecords.Ages, in place: RetainedPlace, limit: Int
  ) async throws(StoreError) -> StaleRecords {
    var stale = StaleRecords()
    if place == .everywhere {
      stale = try store.readDisk { AgedRows(reader: $0).staleRecords(ages, limit: limit) }
    }
    guard store.hasEphemeralSessions else { return stale }
    let own = try store.readOwn { AgedRows(reader: $0).staleRecords(ages, limit: limit) }
    stale.deliveries += own.deliveries
    stale.decisions += own.decisions
    stale.replies += own.replies
    return stale
  }
}

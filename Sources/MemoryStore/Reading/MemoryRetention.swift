package import TransferModel
package import TransferStore

/// What there is to take away.
extension MemoryStore {
  package func finishedTasks(
    _ query: FinishedTaskQuery, in place: RetainedPlace, limit: Int
  ) async throws(StoreError) -> [FinishedTask] {
    var found: [FinishedTask] = []
    if place == .everywhere {
      found = try readDisk { AgedRows(reader: $0).finishedTasks(query, limit: limit) }
    }
    // What is in memory has a limit of its own.
    if case .keeping = query { return found }
    if hasEphemeralSessions {
      found += try readOwn { AgedRows(reader: $0).finishedTasks(query, limit: limit) }
    }
    return found
  }

  package func keptBytes() async throws(StoreError) -> Int64 {
    try readDisk { AgedRows(reader: $0).keptBytes() }
  }

  package func staleRecords(
    _ ages: StaleRecords.Ages, in place: RetainedPlace, limit: Int
  ) async throws(StoreError) -> StaleRecords {
    var stale = StaleRecords()
    if place == .everywhere {
      stale = try readDisk { AgedRows(reader: $0).staleRecords(ages, limit: limit) }
    }
    guard hasEphemeralSessions else { return stale }
    let own = try readOwn { AgedRows(reader: $0).staleRecords(ages, limit: limit) }
    stale.deliveries += own.deliveries
    stale.decisions += own.decisions
    stale.replies += own.replies
    return stale
  }
}

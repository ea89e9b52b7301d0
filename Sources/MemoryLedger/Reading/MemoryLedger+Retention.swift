package import Ledger
package import TransferModel

/// What there is to take away.
extension MemoryLedger {
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
    if hasEphemeralSessions {
      stale.add(try readOwn { AgedRows(reader: $0).staleRecords(ages, limit: limit) })
    }
    return stale
  }
}

package import Ledger
package import TransferModel

/// Expired records.
extension RecordsInMemory {
  package func finishedTasks(
    _ query: FinishedTaskQuery, limit: Int
  ) async throws(StoreError) -> [FinishedTask] {
    try read { AgedRows(reader: $0).finishedTasks(query, limit: limit) }
  }

  package func keptBytes() async throws(StoreError) -> Int64 {
    try read { AgedRows(reader: $0).keptBytes() }
  }

  package func staleRecords(
    _ ages: StaleRecords.Ages, limit: Int
  ) async throws(StoreError) -> StaleRecords {
    try read { AgedRows(reader: $0).staleRecords(ages, limit: limit) }
  }

  package func oldestEvents(limit: Int) async throws(StoreError) -> [AgedEvents] {
    try read { JournalRows(reader: $0).oldestEvents(limit: limit) }
  }
}

package import Ledger
package import TransferModel

/// Expired records.
extension MemoryRowsReading {
  package func finishedTasks(
    _ query: FinishedTaskQuery, limit: Int
  ) async throws(LedgerError) -> [FinishedTask] {
    try read { ExpiredRows(reader: $0).finishedTasks(query, limit: limit) }
  }

  package func keptBytes() async throws(LedgerError) -> Int64 {
    try read { ExpiredRows(reader: $0).keptBytes() }
  }

  package func staleRecords(
    _ ages: ExpiredRecords.Cutoffs, limit: Int
  ) async throws(LedgerError) -> ExpiredRecords {
    try read { ExpiredRows(reader: $0).staleRecords(ages, limit: limit) }
  }

  package func oldestEvents(limit: Int) async throws(LedgerError) -> [JournalRowAge] {
    try read { JournalRows(reader: $0).oldestEvents(limit: limit) }
  }
}

package import Ledger
package import TransferModel

/// The journal of events.
extension MemoryRowsReading {
  package func journal(
    _ scope: EventScope, after sequence: Int64, maximumBytes: Int
  ) async throws(LedgerError) -> JournalPage {
    try read { $0.journal(scope, after: sequence, maximumBytes: maximumBytes) }
  }
}

package import Ledger
package import TransferModel

/// The journal: what was told, in its order.
extension RecordsInMemory {
  package func journal(
    _ scope: EventScope, after sequence: Int64, maximumBytes: Int
  ) async throws(StoreError) -> JournalPage {
    try read { $0.journal(scope, after: sequence, maximumBytes: maximumBytes) }
  }
}

package import TransferModel

/// The journal of events, in ascending order.
package protocol JournalRecords: Sendable {
  /// Returns about `maximumBytes` of fragments with events after `sequence`.
  func journal(
    _ scope: EventScope, after sequence: Int64, maximumBytes: Int
  ) async throws(LedgerError) -> JournalPage
}

package import TransferModel

/// The journal of events, in ascending order.
package protocol JournalRecords: Sendable {
  /// Fragments with events after `sequence`, about `maximumBytes` of them.
  func journal(
    _ scope: EventScope, after sequence: Int64, maximumBytes: Int
  ) async throws(StoreError) -> JournalPage
}

internal import Ledger
internal import TransferModel

/// Which rows are read.
extension MemoryLedger {
  var hasEphemeralSessions: Bool { !ephemeral.isEmpty }

  /// Where a session's things are.
  func read<T>(
    of session: SessionID, _ body: (RowReader) throws(StoreError) -> T
  ) throws(StoreError) -> T {
    try ephemeral.contains(session) ? readOwn(body) : readDisk(body)
  }

  /// Of what does not say whose it is.
  func find<T>(_ body: (RowReader) throws(StoreError) -> T?) throws(StoreError) -> T? {
    if hasEphemeralSessions, let found = try readOwn(body) { return found }
    return try readDisk(body)
  }
}

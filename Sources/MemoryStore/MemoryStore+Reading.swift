internal import TransferModel
package import TransferStore

/// Who reads what.
extension MemoryStore {
  package var taskRecords: any TaskRecords { MemoryTasks(store: self) }
  package var keptRecords: any KeptRecords { MemoryKept(store: self) }
  package var journalRecords: any JournalRecords { MemoryJournal(store: self) }
  package var processQueues: any ProcessQueues { MemoryQueues(store: self) }
  package var retentionRecords: any RetentionRecords { MemoryRetention(store: self) }
  package var outboxRecords: any OutboxRecords { MemoryOutbox(store: self) }

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

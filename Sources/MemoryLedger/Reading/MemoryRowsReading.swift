package import Ledger

/// The read side of a ledger, over `MemoryRows`.
package protocol MemoryRowsReading: TaskRecords, GroupRecords, SessionRecords, JournalRecords, ProcessQueues,
  OutboxRecords,
  RetentionRecords
{
  /// The epoch under which the process owns some of the shards; `nil` if it owns all rows.
  var epoch: Epoch? { get }

  /// Reads a consistent snapshot of the rows.
  func read<T>(_ body: (RowReader) throws(LedgerError) -> T) throws(LedgerError) -> T
}

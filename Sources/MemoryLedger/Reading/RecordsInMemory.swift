package import Ledger

/// The read side of a ledger, over `MemoryRows`.
package protocol RecordsInMemory: TaskRecords, KeptRecords, JournalRecords, ProcessQueues, OutboxRecords,
  RetentionRecords
{
  /// The epoch under which the process owns some of the shards of these rows; nil: all rows are its own.
  var epoch: Epoch? { get }

  /// Reads the rows as they are at that moment. Nobody changes them meanwhile.
  func read<T>(_ body: (RowReader) throws(StoreError) -> T) throws(StoreError) -> T
}

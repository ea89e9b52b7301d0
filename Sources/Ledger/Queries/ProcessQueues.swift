package import TransferModel

/// The queues between the service and the worker: rows that one process writes and the other consumes.
package protocol ProcessQueues: Sendable {
  func commands(after number: Int64, limit: Int) async throws(LedgerError) -> [QueueRow<StoredCommand>]
  func workerReports(after number: Int64, limit: Int) async throws(LedgerError) -> [QueueRow<String>]
  func lastWorkerReport() async throws(LedgerError) -> Int64?
  func work() async throws(LedgerError) -> [StoredWork]
  /// Returns a page of the work rows.
  func work(after task: TaskID?, limit: Int) async throws(LedgerError) -> [StoredWork]
}

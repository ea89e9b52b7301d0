package import Ledger
package import TransferModel

/// The queues between the service and the worker.
extension MemoryRowsReading {
  package func commands(
    after number: Int64, limit: Int
  ) async throws(LedgerError) -> [QueueRow<StoredCommand>] {
    try read { $0.commands(after: number, limit: limit) }
  }

  package func workerReports(after number: Int64, limit: Int) async throws(LedgerError) -> [QueueRow<String>]
  {
    try read { $0.news(after: number, limit: limit) }
  }

  package func lastWorkerReport() async throws(LedgerError) -> Int64? { try read { $0.rows.news.last?.key } }

  package func work() async throws(LedgerError) -> [StoredWork] { try read { $0.work() } }

  package func work(after task: TaskID?, limit: Int) async throws(LedgerError) -> [StoredWork] {
    try read { $0.work(after: task, limit: limit) }
  }
}

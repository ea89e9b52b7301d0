package import Ledger
package import TransferModel

/// How the service and the process that carries background tasks out talk.
extension RecordsInMemory {
  package func commands(
    after number: Int64, limit: Int
  ) async throws(StoreError) -> [Queued<StoredCommand>] {
    try read { $0.commands(after: number, limit: limit) }
  }

  package func news(after number: Int64, limit: Int) async throws(StoreError) -> [Queued<String>] {
    try read { $0.news(after: number, limit: limit) }
  }

  package func lastNews() async throws(StoreError) -> Int64? { try read { $0.rows.news.last?.key } }

  package func work() async throws(StoreError) -> [StoredWork] { try read { $0.work() } }

  package func work(after task: TaskID?, limit: Int) async throws(StoreError) -> [StoredWork] {
    try read { $0.work(after: task, limit: limit) }
  }
}

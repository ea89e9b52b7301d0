package import Ledger
package import TransferModel

/// How the service and the process that carries background tasks out talk.
extension MemoryLedger {
  package func commands(
    after number: Int64, limit: Int
  ) async throws(StoreError) -> [Queued<StoredCommand>] {
    try readDisk { $0.commands(after: number, limit: limit) }
  }

  package func news(after number: Int64, limit: Int) async throws(StoreError) -> [Queued<String>] {
    try readDisk { $0.news(after: number, limit: limit) }
  }

  package func lastNews() async throws(StoreError) -> Int64? { try readDisk { $0.rows.news.keys.last } }

  package func work() async throws(StoreError) -> [StoredWork] { try readDisk { $0.work() } }

  package func work(after task: TaskID?, limit: Int) async throws(StoreError) -> [StoredWork] {
    try readDisk { $0.work(after: task, limit: limit) }
  }
}

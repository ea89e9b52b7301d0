internal import TransferModel
internal import TransferStore

/// How the service and the process that carries background tasks out talk.
struct MemoryQueues: ProcessQueues {
  let store: MemoryStore

  func commands(
    after number: Int64, limit: Int
  ) async throws(StoreError) -> [Queued<StoredCommand>] {
    try store.readDisk { $0.commands(after: number, limit: limit) }
  }

  func news(after number: Int64, limit: Int) async throws(StoreError) -> [Queued<String>] {
    try store.readDisk { $0.news(after: number, limit: limit) }
  }

  func lastNews() async throws(StoreError) -> Int64? { try store.readDisk { $0.rows.news.keys.last } }

  func work() async throws(StoreError) -> [StoredWork] { try store.readDisk { $0.work() } }

  func work(after task: TaskID?, limit: Int) async throws(StoreError) -> [StoredWork] {
    try store.readDisk { $0.work(after: task, limit: limit) }
  }
}

package import TransferModel

/// How the service and the process that carries background tasks out talk: rows that one writes and the other takes.
package protocol ProcessQueues: Sendable {
  func commands(after number: Int64, limit: Int) async throws(StoreError) -> [Queued<StoredCommand>]
  func news(after number: Int64, limit: Int) async throws(StoreError) -> [Queued<String>]
  func lastNews() async throws(StoreError) -> Int64?
  func work() async throws(StoreError) -> [StoredWork]
  /// A page of it.
  func work(after task: TaskID?, limit: Int) async throws(StoreError) -> [StoredWork]
}

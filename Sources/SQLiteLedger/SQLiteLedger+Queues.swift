internal import FoundationEssentials
internal import GRDB
package import Ledger
internal import Records
package import TransferModel

/// How the service and the process that carries background tasks out talk: rows that one writes and the other takes.
extension SQLiteLedger {
  /// Commands that were not taken yet and come after `number`.
  package func commands(
    after number: Int64, limit: Int
  ) async throws(StoreError) -> [Queued<StoredCommand>] {
    try await readers.read { [box = readers.box] database in
      try Row.fetchAll(
        database.prepared(.commands), arguments: [number, limit]
      ).map { row in
        Queued(
          number: row[.number],
          content: StoredCommand(
            session: SessionID(bytes: row.bytes(.session)) ?? .shared,
            document: box.open(row[.sealed]) ?? ""))
      }
    }
  }

  /// What was told and not taken yet, and comes after `number`.
  package func news(after number: Int64, limit: Int) async throws(StoreError) -> [Queued<String>] {
    try await readers.read { [box = readers.box] database in
      try Row.fetchAll(
        database.prepared(.news), arguments: [number, limit]
      ).map { row in Queued(number: row[.number], content: box.open(row[.sealed]) ?? "") }
    }
  }

  /// The number of the last that was told and not taken yet; nil where there is none.
  package func lastNews() async throws(StoreError) -> Int64? {
    try await readers.read { try Int64.fetchOne($0.prepared(.lastNews)) }
  }

  /// Of the tasks that are being carried out there, those that come after `task`.
  package func work(after task: TaskID?, limit: Int) async throws(StoreError) -> [StoredWork] {
    let reader = readers.reader(of: .work)
    return try await readers.read { database in
      try reader.all(
        database, .work, [Data(task?.bytes ?? [])], limit: limit, Self.work)
    }
  }

  private static func work(_ row: StoredRow) throws(UnreadableRow) -> StoredWork {
    StoredWork(task: try row.id(.task), session: try row.id(.session), document: try row.secret(.work))
  }

  /// The tasks that are being carried out there.
  package func work() async throws(StoreError) -> [StoredWork] {
    try await work(after: nil, limit: .max)
  }
}

internal import FoundationEssentials
internal import GRDB
package import Ledger
internal import Records
package import TransferModel

/// The queues between the service and the worker.
extension SQLiteLedger {
  /// Returns commands that the worker has not consumed yet, with numbers above `number`.
  package func commands(
    after number: Int64, limit: Int
  ) async throws(LedgerError) -> [QueueRow<StoredCommand>] {
    try await readers.read { [box = readers.box] database in
      try Row.fetchAll(
        database.prepared(.commands), arguments: [number, limit]
      ).map { row in
        QueueRow(
          number: row[.number],
          content: StoredCommand(
            session: SessionID(bytes: row.bytes(.session)) ?? .shared,
            document: box.open(row[.sealed]) ?? ""))
      }
    }
  }

  /// Returns the worker's reports that are not consumed yet, with numbers above `number`.
  package func workerReports(after number: Int64, limit: Int) async throws(LedgerError) -> [QueueRow<String>]
  {
    try await readers.read { [box = readers.box] database in
      try Row.fetchAll(
        database.prepared(.news), arguments: [number, limit]
      ).map { row in QueueRow(number: row[.number], content: box.open(row[.sealed]) ?? "") }
    }
  }

  /// Returns the number of the worker's last report that is not consumed yet; `nil` if there is none.
  package func lastWorkerReport() async throws(LedgerError) -> Int64? {
    try await readers.read { try Int64.fetchOne($0.prepared(.lastNews)) }
  }

  /// Returns the work rows of the tasks after `task`.
  package func work(after task: TaskID?, limit: Int) async throws(LedgerError) -> [StoredWork] {
    let reader = readers.reader(of: .work)
    return try await readers.read { database in
      try reader.all(
        database, .work, [Data(task?.bytes ?? [])], limit: limit, Self.work)
    }
  }

  private static func work(_ row: StoredRow) throws(UnreadableRow) -> StoredWork {
    StoredWork(task: try row.id(.task), session: try row.id(.session), document: try row.secret(.work))
  }

  /// Returns all work rows.
  package func work() async throws(LedgerError) -> [StoredWork] {
    try await work(after: nil, limit: .max)
  }
}

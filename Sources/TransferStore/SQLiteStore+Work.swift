internal import FoundationEssentials
internal import GRDB
package import TransferModel

// How the service and the process that carries background tasks out talk: through rows that one writes and the other takes.

extension SQLiteStore {
  /// Commands that were not taken yet and come after `number`.
  package func commands(
    after number: Int64, limit: Int
  ) async throws(StoreError) -> [Queued<StoredCommand>] {
    try await readDisk { [box] database in
      try Row.fetchAll(
        database, sql: "SELECT number, session, sealed FROM command WHERE number > ? ORDER BY number LIMIT ?",
        arguments: [number, limit]
      ).map { row in
        Queued(
          number: row["number"],
          content: StoredCommand(
            session: SessionID(bytes: row.bytes("session")) ?? .shared,
            document: box.open(row["sealed"]) ?? ""))
      }
    }
  }

  /// What was told and not taken yet, and comes after `number`.
  package func news(after number: Int64, limit: Int) async throws(StoreError) -> [Queued<String>] {
    try await readDisk { [box] database in
      try Row.fetchAll(
        database, sql: "SELECT number, sealed FROM news WHERE number > ? ORDER BY number LIMIT ?",
        arguments: [number, limit]
      ).map { row in Queued(number: row["number"], content: box.open(row["sealed"]) ?? "") }
    }
  }

  /// The tasks that are being carried out there.
  package func work() async throws(StoreError) -> [StoredWork] {
    try await readDisk { [box] database in
      try Row.fetchAll(database, sql: "SELECT task, session, sealed FROM work ORDER BY task").map { row in
        StoredWork(
          task: TaskID(bytes: row.bytes("task")) ?? TaskID(high: 0, low: 0),
          session: SessionID(bytes: row.bytes("session")) ?? .shared,
          document: box.open(row["sealed"]) ?? "")
      }
    }
  }

  /// These tasks, as far as they are there.
  package func tasks(_ ids: [TaskID]) async throws(StoreError) -> [TransferTask] {
    try await readDisk { [box] database in
      try ids.compactMap { id in
        try Row.fetchOne(database, sql: Self.taskColumns + " WHERE id = ?", arguments: [Data(id.bytes)])
          .map { try TransferTask(row: $0, openedBy: box) }
      }
    }
  }
}

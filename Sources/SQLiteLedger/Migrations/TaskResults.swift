internal import FoundationEssentials
internal import GRDB
internal import Ledger
internal import Records
internal import TransferModel

/// The results of the tasks that ended before migration 101. They are in sealed documents, so SQL cannot read them.
struct TaskResults {
  /// The rows that are in memory at once.
  private static let rowsAtOnce = 500

  let database: Database
  let box: SecretBox

  /// Fills the column `result`. A task that cannot be read keeps NULL, and no filter for outcomes finds it.
  func fill() throws {
    let select = try database.makeStatement(
      sql: """
        SELECT id, session, identifier, kind, state, suspend_count, created, specification, request_body, outcome, is_pruned
        FROM task WHERE state = 'completed' AND id > ? ORDER BY id LIMIT \(Self.rowsAtOnce)
        """)
    let update = try database.makeStatement(sql: "UPDATE task SET result = ? WHERE id = ?")
    var last = Data()
    while true {
      let rows = try Row.fetchAll(select, arguments: [last])
      guard let final = rows.last else { return }
      last = final[.id]
      for row in rows {
        let stored = StoredRow(row: row, kind: .task, box: box)
        guard let outcome = try? TransferTask(stored).outcome else { continue }
        try update.execute(arguments: [outcome.rawValue, row[.id] as Data])
      }
    }
  }
}

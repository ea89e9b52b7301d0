internal import GRDB
internal import TransferModel

/// Encrypts what a database holds of secrets anew, under the first key of a box.
package enum SecretRotation {
  /// What is sealed under a key that the box does not have.
  package struct UnknownKey: Error, Sendable {
    package let table: String
  }

  /// Where sealed text stands.
  private static let columns = [
    ("credential", "sealed"), ("session", "document"), ("task", "specification"), ("task", "outcome"),
    ("delivery", "secret"),
  ]

  /// All of it or nothing. The service must not be running.
  /// - Returns: how many rows there were.
  package static func run(database path: String, box: SecretBox) throws -> Int {
    let queue = try DatabaseQueue(path: path)
    try Migrations.migrator.migrate(queue)
    var count = 0
    try queue.inTransaction(.immediate) { database in
      for (table, column) in columns { count += try rotate(table, column, box, database) }
      return .commit
    }
    // What was overwritten is gone from the file, too.
    try queue.writeWithoutTransaction { database in
      try database.execute(sql: "VACUUM")
      _ = try? database.checkpoint(.truncate)
    }
    try queue.close()
    return count
  }

  private static func rotate(
    _ table: String, _ column: String, _ box: SecretBox, _ database: Database
  ) throws -> Int {
    // The credential table has no rowid; its key is two columns.
    let key = table == "credential" ? "session, space" : "id"
    let condition = table == "credential" ? "session = ? AND space = ?" : "id = ?"
    let rows = try Row.fetchAll(
      database, sql: "SELECT \(column) AS sealed, \(key) FROM \(table) WHERE \(column) LIKE '%sealed:%'")
    for row in rows {
      guard let text = box.reseal(row["sealed"]) else { throw UnknownKey(table: table) }
      let keys: [any DatabaseValueConvertible] = row.databaseValues.dropFirst().map { $0 }
      try database.execute(
        sql: "UPDATE \(table) SET \(column) = ? WHERE \(condition)",
        arguments: StatementArguments([text] + keys))
    }
    return rows.count
  }
}

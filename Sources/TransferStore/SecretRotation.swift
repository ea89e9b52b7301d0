internal import FoundationEssentials
internal import GRDB
internal import TransferModel

/// Encrypts what a database holds of secrets anew, under the first key of a box.
package enum SecretRotation {
  /// What is sealed under a key that the box does not have.
  package struct UnknownKey: Error, Sendable {
    package let table: String
  }

  /// Single secrets, as text, and the row's key.
  static let fields = [
    ("credential", "sealed", ["session", "space"]), ("cookie", "sealed", ["session", "key"]),
    ("delivery", "secret", ["id"]), ("command", "sealed", ["number"]), ("work", "sealed", ["task"]),
    ("news", "sealed", ["number"]),
  ]
  /// All of it or nothing. The service must not be running.
  /// - Parameters:
  ///   - old: opens what is there.
  ///   - new: seals it, and opens what is there.
  ///   - willCommit: is called when all is encrypted anew and nothing is written yet: whatever goes wrong before leaves
  ///     no need for the new key, and from then on there may be one.
  /// - Returns: how many rows there were.
  /// - Throws: `OpeningError`, among others.
  package static func run(
    database path: String, from old: SecretBox, to new: SecretBox, willCommit: () throws -> Void
  ) throws -> Int {
    let file = DatabaseFile(path: path)
    let pool = try file.open(old, mayCreate: false) {}
    defer { file.close(pool) }
    return try file.write { try rotate(pool, new, willCommit) }
  }

  private static func rotate(
    _ pool: DatabasePool, _ new: SecretBox, _ willCommit: () throws -> Void
  ) throws -> Int {
    var count = 0
    try pool.writeInTransaction(.immediate) { database in
      for (table, column, key) in fields { count += try rotate(table, column, key, new, database) }
      count += try SealedDocuments(database: database).resealAll(with: new)
      try KeyCheck.write(database, new)
      try Overwritten.mark(database)
      try willCommit()
      return .commit
    }
    try? pool.writeWithoutTransaction { try Overwritten.remove($0) }
    return count
  }

  private static func rotate(
    _ table: String, _ column: String, _ key: [String], _ box: SecretBox, _ database: Database
  ) throws -> Int {
    let rows = try Row.fetchAll(
      database,
      sql: "SELECT \(column), \(key.joined(separator: ", ")) FROM \(table) WHERE \(column) IS NOT NULL")
    let condition = key.map { "\($0) = ?" }.joined(separator: " AND ")
    for row in rows {
      guard let secret = box.open(row[column]) else { throw UnknownKey(table: table) }
      let values: [any DatabaseValueConvertible] = row.databaseValues.dropFirst().map { $0 }
      try database.execute(
        sql: "UPDATE \(table) SET \(column) = ? WHERE \(condition)",
        arguments: StatementArguments([box.seal(secret)] + values))
    }
    return rows.count
  }
}

internal import FoundationEssentials
internal import GRDB
internal import TransferModel

/// Encrypts what a database holds of secrets anew, under the first key of a box.
package enum SecretRotation {
  /// What is sealed under a key that the box does not have.
  package struct UnknownKey: Error, Sendable {
    package let table: String
  }

  /// Where there is one secret, sealed as a whole, and the row's key.
  private static let fields = [
    ("credential", "sealed", ["session", "space"]), ("cookie", "sealed", ["session", "key"]),
    ("delivery", "secret", ["id"]), ("command", "sealed", ["number"]), ("work", "sealed", ["task"]),
    ("news", "sealed", ["number"]),
  ]
  /// Where strings among others are sealed.
  private static let documents = [
    ("session", "document", "id"), ("task", "specification", "id"), ("task", "outcome", "id"),
    ("configuration", "document", "name"),
  ]

  /// All of it or nothing. The service must not be running.
  /// - Parameters:
  ///   - old: opens what is there.
  ///   - new: seals it, and opens what is there.
  ///   - willCommit: is called when all is encrypted anew and nothing is written yet: whatever goes wrong before leaves
  ///     no need for the new key, and from then on there may be one.
  /// - Returns: how many rows there were.
  package static func run(
    database path: String, from old: SecretBox, to new: SecretBox, willCommit: () throws -> Void
  ) throws -> Int {
    let queue = try DatabaseQueue(path: path)
    defer { try? queue.close() }
    try Migrations.migrator(old).migrate(queue)
    var count = 0
    try queue.inTransaction(.immediate) { database in
      for (table, column, key) in fields { count += try rotate(table, column, key, new, database) }
      for (table, column, key) in documents { count += try rotate(table, column, key, new, database) }
      try Overwritten.mark(database)
      try willCommit()
      return .commit
    }
    try? queue.writeWithoutTransaction { try Overwritten.remove($0) }
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

  private static func rotate(
    _ table: String, _ column: String, _ key: String, _ box: SecretBox, _ database: Database
  ) throws -> Int {
    var count = 0
    let ids = try DatabaseValue.fetchAll(
      database, sql: "SELECT \(key) FROM \(table) WHERE \(column) LIKE '%sealed:%'")
    for id in ids {
      let row = try Row.fetchOne(
        database, sql: "SELECT \(column) FROM \(table) WHERE \(key) = ?", arguments: [id])
      guard let document = row?.optionalBytes(column), let sealed = box.reseal(document: document) else {
        continue
      }
      try database.execute(
        sql: "UPDATE \(table) SET \(column) = ? WHERE \(key) = ?",
        arguments: [String(decoding: sealed, as: UTF8.self), id])
      count += 1
    }
    return count
  }
}

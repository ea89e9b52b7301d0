internal import GRDB

/// A row that says whether the keys at hand are those that the database was written with: a known text, sealed.
enum KeyCheck {
  private static let text = "ferry"

  static let table = """
    CREATE TABLE key_check (
      only INTEGER PRIMARY KEY CHECK (only = 1),
      sealed TEXT NOT NULL
    )
    """

  /// Seals the text with the first of the keys.
  static func write(_ database: Database, _ box: SecretBox) throws {
    try database.execute(
      sql: "INSERT OR REPLACE INTO key_check (only, sealed) VALUES (1, ?)", arguments: [box.seal(text)])
  }

  /// Throws where the database was written with other keys. One from before the row is judged by what it has sealed.
  static func verify(_ database: Database, _ box: SecretBox) throws {
    if try database.tableExists("key_check"),
      let sealed = try String.fetchOne(database, sql: "SELECT sealed FROM key_check")
    {
      guard box.open(sealed) == text else { throw OpeningError.otherKey }
      return
    }
    for (table, column, _) in SecretRotation.fields where try database.tableExists(table) {
      let sealed = try String.fetchOne(
        database, sql: "SELECT \(column) FROM \(table) WHERE \(column) LIKE 'sealed:%' LIMIT 1")
      guard let sealed else { continue }
      guard box.open(sealed) != nil else { throw OpeningError.otherKey }
    }
  }
}

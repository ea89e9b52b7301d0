internal import GRDB
internal import Records

/// A row that says whether the keys at hand are those that the database was written with: a known text, sealed.
enum KeyCheck {
  private static let text = "ferry"

  /// Seals the text with the first of the keys.
  static func write(_ database: Database, _ box: SecretBox) throws {
    try database.execute(
      sql: "INSERT OR REPLACE INTO \(StoredTable.keyCheck) (only, sealed) VALUES (1, ?)",
      arguments: [box.seal(text)])
  }

  /// The box with the names of the key that the database was written with.
  static func naming(_ database: Database, _ box: SecretBox) throws -> SecretBox {
    try String.fetchOne(database, sql: Query.keyCheck.text).map { box.naming(asIn: $0) } ?? box
  }

  /// Throws where the database was written with other keys.
  static func verify(_ database: Database, _ box: SecretBox) throws {
    guard try database.tableExists(StoredTable.keyCheck.rawValue),
      let sealed = try String.fetchOne(database, sql: Query.keyCheck.text)
    else { return }
    guard box.open(sealed) == text else { throw OpeningError.otherKey }
  }
}

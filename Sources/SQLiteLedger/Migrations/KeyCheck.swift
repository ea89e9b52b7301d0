internal import GRDB
internal import Records

/// A row with a known sealed text. It shows whether the database was written with the given keys.
enum KeyCheck {
  private static let text = "ferry"

  /// Seals the text with the first key of the box.
  static func write(_ database: Database, _ box: SecretBox) throws {
    try database.execute(
      sql: "INSERT OR REPLACE INTO \(StoredTable.keyCheck) (only, sealed) VALUES (1, ?)",
      arguments: [box.seal(text)])
  }

  /// Returns the box with the naming key that the database was written with.
  static func naming(_ database: Database, _ box: SecretBox) throws -> SecretBox {
    try String.fetchOne(database, sql: Query.keyCheck.text).map { box.withBlindIndexKey(asIn: $0) } ?? box
  }

  /// Throws if the database was written with other keys.
  static func verify(_ database: Database, _ box: SecretBox) throws {
    guard try database.tableExists(StoredTable.keyCheck.rawValue),
      let sealed = try String.fetchOne(database, sql: Query.keyCheck.text)
    else { return }
    guard box.open(sealed) == text else { throw OpeningError.otherKey }
  }
}

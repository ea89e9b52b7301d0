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
      sql: "INSERT OR REPLACE INTO \(StoredTable.keyCheck) (only, sealed) VALUES (1, ?)",
      arguments: [box.seal(text)])
  }

  /// The box with the names of the key that the database was written with.
  static func naming(_ database: Database, _ box: SecretBox) throws -> SecretBox {
    try String.fetchOne(database, sql: Query.keyCheck.text).map { box.naming(asIn: $0) } ?? box
  }

  /// Throws where the database was written with other keys. One from before the row is judged by what it has sealed.
  static func verify(_ database: Database, _ box: SecretBox) throws {
    if try database.tableExists(StoredTable.keyCheck.rawValue),
      let sealed = try String.fetchOne(database, sql: Query.keyCheck.text)
    {
      guard box.open(sealed) == text else { throw OpeningError.otherKey }
      return
    }
    for place in SealedText.allCases.map(\.place) where try database.tableExists(place.table.rawValue) {
      guard let sealed = try SealedColumn(place, in: database).first(beginningWith: SecretBox.prefix) else {
        continue
      }
      guard box.open(sealed) != nil else { throw OpeningError.otherKey }
    }
  }
}

internal import FoundationEssentials
internal import GRDB
package import Records
internal import TransferModel

/// Encrypts what a database holds of secrets anew, under the first key of a box.
package enum SecretRotation {
  /// What is sealed under a key that the box does not have.
  package struct UnknownKey: Error, Sendable {
    package let table: StoredTable
  }

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
    let pool = try file.open(old, mayCreate: false, mustKnowAll: true) {}
    defer { file.close(pool) }
    return try file.write { try rotate(pool, new, willCommit) }
  }

  private static func rotate(
    _ pool: DatabasePool, _ new: SecretBox, _ willCommit: () throws -> Void
  ) throws -> Int {
    var count = 0
    try pool.writeInTransaction(.immediate) { database in
      // What checks the keys is not carried over, but made for them.
      for text in SealedText.allCases where text != .keyCheck {
        count += try SealedColumn(text.place, in: database).rewrite { value in
          guard case .string(let sealed) = value.storage, let secret = new.open(sealed) else {
            throw UnknownKey(table: text.place.table)
          }
          return new.seal(secret).databaseValue
        }
      }
      for column in SealedDocument.allCases { count += try reseal(column, database, new) }
      try RowNaming(database: database, box: new).rename()
      try KeyCheck.write(database, new)
      try Overwritten.mark(database)
      try willCommit()
      return .commit
    }
    try? pool.writeWithoutTransaction { try Overwritten.remove($0) }
    return count
  }

  /// Seals all documents of a column with the first key of the box.
  private static func reseal(
    _ column: SealedDocument, _ database: Database, _ box: SecretBox
  ) throws -> Int {
    try SealedColumn(column.place, in: database).rewrite { value in
      guard case .blob(let data) = value.storage else { return nil }
      do throws(SecretBox.Fault) {
        let document = try box.open(Array(data), as: column.kind)
        return Data(box.seal(document, as: column.kind)).databaseValue
      } catch .unknownKey {
        throw UnknownKey(table: column.place.table)
      } catch {
        // It was damaged, and is no worse under the old key.
        return nil
      }
    }
  }
}

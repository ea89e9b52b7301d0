internal import FoundationEssentials
internal import GRDB
package import Records
internal import TransferModel

/// The re-encryption of a database's secrets under the first key of a box.
package enum SecretRotation {
  /// The error if a value is sealed under a key that the box does not have.
  package struct UnknownKey: Error, Sendable {
    package let table: StoredTable
  }

  /// Re-encrypts all secrets, or nothing. The service must not be running.
  /// - Parameters:
  ///   - old: the box that opens the database.
  ///   - new: the box that seals the secrets. It opens the old values as well.
  ///   - willCommit: called after all rows are re-encrypted, before the commit. The new key is not needed if an earlier step fails.
  /// - Returns: the number of re-encrypted rows.
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
      // The key check is not re-encrypted but written again.
      for text in SealedText.allCases where text != .keyCheck {
        count += try SealedColumn(text.place, in: database).rewrite { value in
          guard case .string(let sealed) = value.storage, let secret = new.open(sealed) else {
            throw UnknownKey(table: text.place.table)
          }
          return new.seal(secret).databaseValue
        }
      }
      for column in SealedDocument.allCases { count += try reseal(column, database, new) }
      try BlindIndexRotation(database: database, box: new).rename()
      try KeyCheck.write(database, new)
      try PendingVacuum.mark(database)
      try willCommit()
      return .commit
    }
    try? pool.writeWithoutTransaction { try PendingVacuum.remove($0) }
    return count
  }

  /// Re-encrypts all documents of a column with the first key of the box.
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
        // The value was damaged already, and stays under the old key.
        return nil
      }
    }
  }
}

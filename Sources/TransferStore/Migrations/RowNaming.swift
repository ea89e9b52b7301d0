internal import FoundationEssentials
internal import GRDB
internal import HTTPCookies
internal import TransferModel

/// Gives rows their names: from the texts that earlier versions stored in clear, or, under another key, from the sealed documents. No
/// other process writes to the database meanwhile.
struct RowNaming {
  private static let tables: [(table: StoredTable, sealedName: DocumentKind?)] = [
    (.cookie, nil), (.credential, nil), (.idempotency, .replyKey), (.configuration, .configurationName),
  ]
  let database: Database
  let box: SecretBox

  /// Replaces each text that an earlier version stored in clear by its name, and seals it if the row has it nowhere else.
  func hideTexts() throws {
    for (table, sealedName) in Self.tables {
      try rename(table, sealedName) { row, column in
        guard case .string(let text) = (row[column.rawValue] as DatabaseValue).storage else { return nil }
        return text
      }
    }
  }

  /// Names all rows under the box's key. A row that cannot be read stays as it is.
  func rename() throws {
    for (table, sealedName) in Self.tables {
      try rename(table, nil) { row, _ in
        let stored = StoredRow(row: row, table: table, box: box)
        return try? sealedName.map { kind in try stored.text(kind) } ?? Self.text(of: stored)
      }
    }
  }

  private static func text(of row: StoredRow) throws(UnreadableRow) -> String {
    row.table == .cookie
      ? try Cookie(row).key.stored : StoredCredential.key(try StoredCredential(row).space)
  }

  /// - Parameters:
  ///   - sealedName: the column that gets the sealed text; nil: none.
  ///   - text: returns the text that the row is looked up by; nil: the row stays as it is.
  private func rename(
    _ table: StoredTable, _ sealedName: DocumentKind?, _ text: (Row, StoredColumn) throws -> String?
  ) throws {
    let (owner, key) = (table.key[0], table.key[1])
    let condition = "WHERE (\(owner.rawValue), \(key.rawValue)) = (?, ?)"
    let select = try database.makeStatement(sql: "SELECT * FROM \(table) \(condition)")
    let sealing = sealedName.map { ", \($0.column.rawValue) = ?" } ?? ""
    let update = try database.makeStatement(
      sql: "UPDATE \(table) SET \(key.rawValue) = ?\(sealing) \(condition)")
    // All keys are read first: in a running query a renamed row could come again.
    for place in try Row.fetchAll(database, sql: "SELECT \(owner.rawValue), \(key.rawValue) FROM \(table)") {
      let old = Array(place.databaseValues)
      guard let row = try Row.fetchOne(select, arguments: StatementArguments(old)),
        let text = try text(row, key)
      else { continue }
      let name = box.names.name(text, of: row.bytes(owner), in: table)
      let sealed = sealedName.map { Data(box.seal(Array(text.utf8), as: $0)).databaseValue }
      let new = [Data(name).databaseValue] + [sealed].compactMap { $0 }
      try update.execute(arguments: StatementArguments(new + old))
    }
  }
}

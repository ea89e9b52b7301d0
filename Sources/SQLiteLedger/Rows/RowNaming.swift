internal import FoundationEssentials
internal import GRDB
internal import HTTPCookies
internal import Ledger
internal import Records
internal import TransferModel

/// Gives rows their names under another key, from their sealed documents. No other process writes to the database meanwhile.
struct RowNaming {
  let database: Database
  let box: SecretBox

  /// Names all rows under the box's key. A row that cannot be read stays as it is.
  func rename() throws {
    for kind in [RecordKind.cookie, .credential, .idempotency, .configuration] { try rename(kind) }
  }

  private func rename(_ kind: RecordKind) throws {
    let table = StoredTable(kind)
    let (owner, key) = (table.key[0], table.key[1])
    let condition = "WHERE (\(owner.rawValue), \(key.rawValue)) = (?, ?)"
    let select = try database.makeStatement(sql: "SELECT * FROM \(table) \(condition)")
    let update = try database.makeStatement(sql: "UPDATE \(table) SET \(key.rawValue) = ? \(condition)")
    // All keys are read first: in a running query a renamed row could come again.
    for place in try Row.fetchAll(database, sql: "SELECT \(owner.rawValue), \(key.rawValue) FROM \(table)") {
      let old = Array(place.databaseValues)
      guard let row = try Row.fetchOne(select, arguments: StatementArguments(old)),
        let text = try? Self.text(of: StoredRow(row: row, kind: kind, box: box))
      else { continue }
      let name = box.names.name(text, owner: row.bytes(owner), of: kind)
      try update.execute(arguments: StatementArguments([Data(name).databaseValue] + old))
    }
  }

  /// The text that the row is looked up by.
  private static func text(of row: StoredRow) throws(UnreadableRow) -> String {
    switch row.kind {
    case .cookie: try Cookie(row).key.stored
    case .credential: StoredCredential.key(try StoredCredential(row).space)
    case .idempotency: try row.text(.replyKey)
    default: try row.text(.configurationName)
    }
  }
}

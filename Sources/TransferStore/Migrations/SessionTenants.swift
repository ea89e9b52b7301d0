internal import FoundationEssentials
internal import GRDB
internal import JSON
internal import TransferModel

/// Whose the sessions are, in a column beside their documents.
enum SessionTenants {
  private static let rowsAtOnce = 500

  static func all(_ database: Database) throws -> [SessionID: Tenant] {
    var tenants: [SessionID: Tenant] = [:]
    let rows = try Row.fetchCursor(database.prepared(.tenants))
    while let row = try rows.next() {
      guard let id = row.optionalBytes(.id).flatMap({ SessionID(bytes: $0) }) else { continue }
      tenants[id] = Tenant(name: String(decoding: row.bytes(.tenant), as: UTF8.self))
    }
    return tenants
  }

  /// nil where there is no such session.
  static func tenant(of session: SessionID, _ database: Database) throws -> Tenant? {
    let row = try Row.fetchOne(database.prepared(.tenant), arguments: [Data(session.bytes)])
    return row.map { Tenant(name: String(decoding: $0.bytes(.tenant), as: UTF8.self)) }
  }

  /// What earlier versions had in the documents alone. One that cannot be read stays with `default`. Each tenant has lost of the
  /// journal what was lost of all.
  static func fill(_ database: Database, _ box: SecretBox) throws {
    let update = try database.makeStatement(sql: "UPDATE session SET tenant = ? WHERE id = ?")
    var last: [UInt8] = []
    while true {
      let rows = try Row.fetchAll(
        database, sql: "SELECT id, document FROM session WHERE id > ? ORDER BY id LIMIT ?",
        arguments: [Data(last), rowsAtOnce])
      guard let final = rows.last else { break }
      last = final.optionalBytes("id") ?? []
      for row in rows {
        guard let document = try? box.open(row.bytes("document"), as: .session),
          let name = (try? JSONParser.parse(document))?["tenant"]?.string
        else { continue }
        try update.execute(arguments: [name, row["id"] as DatabaseValue])
      }
    }
    try database.execute(
      sql: """
        UPDATE journal SET tenant = (SELECT tenant FROM session WHERE session.id = journal.session)
          WHERE session IN (SELECT id FROM session WHERE tenant <> 'default');
        CREATE INDEX journal_by_tenant ON journal (tenant, first);
        INSERT INTO journal_pruning_by_tenant
          SELECT DISTINCT session.tenant, journal_pruning.through FROM session, journal_pruning;
        """)
  }
}

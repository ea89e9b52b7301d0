internal import FoundationEssentials
internal import GRDB
internal import TransferModel

/// The tenants of the sessions, from a plain column.
enum SessionTenants {
  static func all(_ database: Database) throws -> [SessionID: Tenant] {
    var tenants: [SessionID: Tenant] = [:]
    let rows = try Row.fetchCursor(database.prepared(.tenants))
    while let row = try rows.next() {
      guard let id = row.optionalBytes(.id).flatMap({ SessionID(bytes: $0) }) else { continue }
      tenants[id] = Tenant(name: String(decoding: row.bytes(.tenant), as: UTF8.self))
    }
    return tenants
  }

  /// Returns the session's tenant; `nil` if there is no such session.
  static func tenant(of session: SessionID, _ database: Database) throws -> Tenant? {
    let row = try Row.fetchOne(database.prepared(.tenant), arguments: [Data(session.bytes)])
    return row.map { Tenant(name: String(decoding: $0.bytes(.tenant), as: UTF8.self)) }
  }
}

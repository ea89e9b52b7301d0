internal import GRDB

/// Overwritten content that may still be in the database's file. The header's `application_id` records that a vacuum is due, so that a
/// crash only delays it.
enum PendingVacuum {
  static func mark(_ database: Database) throws { try database.execute(sql: "PRAGMA application_id = 1") }

  /// Vacuums the database if that is due. Must run outside a transaction.
  static func remove(_ database: Database) throws {
    guard try Int.fetchOne(database, sql: "PRAGMA application_id") == 1 else { return }
    // The temporary copy may be as large as the database.
    let place = try Int.fetchOne(database, sql: "PRAGMA temp_store") ?? 0
    try database.execute(sql: "PRAGMA temp_store = FILE")
    defer { try? database.execute(sql: "PRAGMA temp_store = \(place)") }
    try database.execute(sql: "VACUUM")
    try database.checkpoint(.truncate)
    try database.execute(sql: "PRAGMA application_id = 0")
  }
}

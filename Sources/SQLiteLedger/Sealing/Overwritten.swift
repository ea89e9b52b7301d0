internal import GRDB

/// Content of a database that was written over, and is still to be found in its file. The header's application_id says
/// that there is some, so that it goes sooner or later, whatever happens in between.
enum Overwritten {
  static func mark(_ database: Database) throws { try database.execute(sql: "PRAGMA application_id = 1") }

  /// Where there is some: writes the file anew without it. Outside of a transaction.
  static func remove(_ database: Database) throws {
    guard try Int.fetchOne(database, sql: "PRAGMA application_id") == 1 else { return }
    // What it works with may be as large as the database.
    let place = try Int.fetchOne(database, sql: "PRAGMA temp_store") ?? 0
    try database.execute(sql: "PRAGMA temp_store = FILE")
    defer { try? database.execute(sql: "PRAGMA temp_store = \(place)") }
    try database.execute(sql: "VACUUM")
    try database.checkpoint(.truncate)
    try database.execute(sql: "PRAGMA application_id = 0")
  }
}

internal import GRDBSQLite

/// The SQLite that was loaded, which need not be the one that Ferry was built with.
package enum SQLiteLibrary {
  package static var version: String { String(cString: sqlite3_libversion()) }
}

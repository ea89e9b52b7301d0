internal import GRDBSQLite

/// The SQLite library that was loaded. It may differ from the version that Ferry was built with.
package enum SQLiteLibrary {
  package static var version: String { String(cString: sqlite3_libversion()) }
}

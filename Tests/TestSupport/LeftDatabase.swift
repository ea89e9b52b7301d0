import GRDB

/// The database that a service has left, for tests that change what is in it.
package enum LeftDatabase {
  /// - Parameter directory: a data directory that no process uses any more.
  package static func execute(_ statement: String, in directory: String) throws {
    let database = try DatabaseQueue(path: directory + "/ferry.db")
    try database.write { try $0.execute(sql: statement) }
    try database.close()
  }
}

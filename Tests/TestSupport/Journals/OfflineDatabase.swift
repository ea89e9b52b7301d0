import GRDB

/// Direct changes to the database of a stopped service.
package enum OfflineDatabase {
  /// - Parameter directory: A data directory that no process uses.
  package static func execute(_ statement: String, in directory: String) throws {
    try execute(statement, at: directory + "/ferry.db")
  }

  package static func execute(_ statement: String, at path: String) throws {
    let database = try DatabaseQueue(path: path)
    try database.write { try $0.execute(sql: statement) }
    try database.close()
  }
}

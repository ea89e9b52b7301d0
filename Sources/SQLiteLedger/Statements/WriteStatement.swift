internal import GRDB
internal import GRDBSQLite

/// A statement of the write path, prepared once and used for every row.
///
/// GRDB's own statements box each argument. With four rows per task, that would be the largest cost of a commit.
struct WriteStatement {
  private let statement: OpaquePointer
  private let connection: OpaquePointer

  init(_ connection: OpaquePointer, _ sql: String) throws {
    var statement: OpaquePointer?
    let status = sqlite3_prepare_v3(connection, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
    guard status == SQLITE_OK, let statement else { throw SQLiteFault(connection, status) }
    self.statement = statement
    self.connection = connection
  }

  func finalize() { sqlite3_finalize(statement) }

  /// Runs the statement with these values and returns the number of changed rows.
  @discardableResult
  func run(_ values: SQLiteValue...) throws -> Int { try run(values) }

  @discardableResult
  func run(_ values: [SQLiteValue]) throws -> Int {
    defer {
      sqlite3_reset(statement)
      sqlite3_clear_bindings(statement)
    }
    for (index, value) in values.enumerated() { bind(value, at: Int32(index + 1)) }
    let status = sqlite3_step(statement)
    guard status == SQLITE_DONE || status == SQLITE_ROW else { throw SQLiteFault(connection, status) }
    return Int(sqlite3_changes(connection))
  }

  private func bind(_ value: SQLiteValue, at index: Int32) {
    // SQLITE_TRANSIENT: SQLite copies before the call returns.
    let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    switch value {
    case .null: sqlite3_bind_null(statement, index)
    case .integer(let number): sqlite3_bind_int64(statement, index, number)
    case .text(let bytes):
      bytes.withUnsafeBufferPointer { buffer in
        buffer.withMemoryRebound(to: CChar.self) { text in
          _ = sqlite3_bind_text(statement, index, text.baseAddress, Int32(text.count), transient)
        }
      }
    case .string(let text): sqlite3_bind_text(statement, index, text, -1, transient)
    case .blob(let bytes):
      // An empty array has no address, and a blob without one would be NULL.
      if bytes.isEmpty {
        sqlite3_bind_zeroblob(statement, index, 0)
      } else {
        bytes.withUnsafeBytes {
          _ = sqlite3_bind_blob(statement, index, $0.baseAddress, Int32($0.count), transient)
        }
      }
    case .id(let high, let low):
      withUnsafeBytes(of: (high.bigEndian, low.bigEndian)) {
        _ = sqlite3_bind_blob(statement, index, $0.baseAddress, 16, transient)
      }
    }
  }
}

/// A result code of SQLite, with its message.
struct SQLiteFault: Error {
  let code: Int32
  let message: String

  init(_ connection: OpaquePointer, _ code: Int32) {
    self.code = code
    message = String(cString: sqlite3_errmsg(connection))
  }

  init(_ error: DatabaseError) {
    self.init(code: error.extendedResultCode.rawValue, message: error.message ?? "\(error.resultCode)")
  }

  private init(code: Int32, message: String) {
    self.code = code
    self.message = message
  }

  /// The fault if another process holds the write lock and does not release it.
  static let locked = SQLiteFault(code: SQLITE_BUSY, message: "another process keeps the database locked")

  var isBusy: Bool { code & 0xFF == SQLITE_BUSY }
  var isFull: Bool { code & 0xFF == SQLITE_FULL }

  /// Whether the fault lies with the disk or the moment, not with the statement. The same statement may succeed later.
  var isPassing: Bool {
    [SQLITE_FULL, SQLITE_IOERR, SQLITE_BUSY, SQLITE_LOCKED, SQLITE_CANTOPEN, SQLITE_NOMEM, SQLITE_READONLY]
      .contains(code & 0xFF)
  }
}

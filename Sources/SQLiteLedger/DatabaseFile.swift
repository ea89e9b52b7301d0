internal import Dispatch
internal import GRDB
internal import GRDBSQLite
internal import Glibc
internal import Processes
internal import Records

extension Configuration {
  /// The database's threads have the priority of all others. GRDB's own default is a nice value below zero, which the system refuses a
  /// service without privileges; libdispatch then logs each refusal.
  static var ofStore: Configuration {
    var configuration = Configuration()
    configuration.qos = .default
    return configuration
  }
}

/// The file of a database: how it is opened, and who of several processes writes to it.
///
/// SQLite lets one process write at a time, and those who wait ask again and again: one that commits in a loop keeps all others
/// out. So whoever writes takes a turn first, which is handed over in order.
struct DatabaseFile {
  /// How long a writer waits for the others. A write takes milliseconds: who keeps it for longer is stuck, or stopped.
  static let patience = Duration.seconds(5)

  /// Bytes of a page of a new database. Five tasks with a small body fill one; of 4 KiB two would fill three quarters.
  private static let pageSize = 8192
  /// Bytes in the write-ahead log from which on they are moved into the database.
  private static let checkpointBytes = 16 << 20

  let path: String
  private let patience: Duration
  private let schema: Schema
  /// Nil where its file cannot be had: SQLite's own lock still holds.
  let turns: Turnstile?
  /// Says to other versions which one this is.
  private let presence: Presence?

  init(path: String, patience: Duration = Self.patience, schema: Schema = .current) {
    self.path = path
    self.patience = patience
    self.schema = schema
    turns = Turnstile(path: path + SQLiteLedger.turnSuffix)
    presence = Presence(path: path + SQLiteLedger.turnSuffix, number: schema.newest)
  }

  /// Runs `body` in a turn.
  func write<T>(_ body: () throws -> T) throws -> T {
    guard turns?.enter(patience: patience) ?? true else { throw OpeningError.kept }
    defer { turns?.leave() }
    return try body()
  }

  /// Opens the database, once nothing stands against that, and brings it up to date.
  /// - Parameters:
  ///   - mayCreate: whether one may be made where there is none, or nothing in it.
  ///   - mustKnowAll: whether one is refused of which a newer version has made more, though this one could live with that.
  ///   - willWrite: is called before the first write that depends on the keys.
  /// - Throws: `OpeningError`, and what `willWrite` throws.
  func open(
    _ box: SecretBox, mayCreate: Bool, mustKnowAll: Bool = false, willWrite: () throws -> Void
  ) throws -> DatabasePool {
    do {
      return try write {
        guard mayCreate || size > 0 else { throw OpeningError.missing }
        try PrivateFiles.secure(database: path)
        let pool = try makePool()
        try prepare(pool, box, mayCreate: mayCreate, mustKnowAll, willWrite)
        presence?.begin()
        return pool
      }
    } catch let error as DatabaseError {
      throw OpeningError(error)
    }
  }

  /// Bytes in it; 0 where there is no such file.
  private var size: Int64 {
    var information = stat()
    return stat(path, &information) == 0 ? Int64(information.st_size) : 0
  }

  private func makePool() throws -> DatabasePool {
    var configuration = Configuration.ofStore
    configuration.label = "ferry-store"
    configuration.maximumReaderCount = 4
    configuration.busyMode = .timeout(5)
    configuration.prepareDatabase { database in
      try database.execute(
        sql: """
          PRAGMA page_size = \(Self.pageSize);
          PRAGMA wal_autocheckpoint = \(Self.checkpointBytes / Self.pageSize);
          PRAGMA journal_size_limit = 67108864;
          PRAGMA temp_store = MEMORY;
          """)
    }
    let pool = try DatabasePool(path: path, configuration: configuration)
    // GRDB has put NORMAL there when it turned WAL on: not each commit would be on the disk.
    try pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = FULL") }
    return pool
  }

  private func prepare(
    _ pool: DatabasePool, _ box: SecretBox, mayCreate: Bool, _ mustKnowAll: Bool,
    _ willWrite: () throws -> Void
  ) throws {
    try pool.writeWithoutTransaction { database in
      guard let connection = database.sqliteConnection, sqlite3_db_readonly(connection, "main") == 0 else {
        throw OpeningError.readOnly
      }
      let applied = try schema.verify(database, box, mustKnowAll: mustKnowAll)
      guard mayCreate || !applied.isEmpty else { throw OpeningError.missing }
      // Whoever opens it, does so in a turn: nobody older can come in between.
      guard presence?.hasOthers(below: schema.oldest) != true else { throw OpeningError.older }
      try willWrite()
      try schema.claim(database)
    }
    try schema.migrator(box).migrate(pool)
    // Where there is no room for that now, there may be when the store is opened again.
    try? pool.writeWithoutTransaction { try Overwritten.remove($0) }
  }

  /// Moves all that was written into the database's own file, as far as nobody reads, and closes it.
  func close(_ pool: DatabasePool) {
    try? write {
      _ = try? pool.writeWithoutTransaction { try $0.checkpoint(.truncate) }
      try? pool.close()
    }
    presence?.end()
  }
}

extension OpeningError {
  init(_ error: DatabaseError) {
    switch error.resultCode {
    case .SQLITE_READONLY, .SQLITE_PERM: self = .readOnly
    case .SQLITE_BUSY, .SQLITE_LOCKED: self = .kept
    default: self = .failed(error.message ?? "\(error.resultCode)")
    }
  }
}

internal import Dispatch
internal import GRDB
internal import GRDBSQLite
internal import Glibc
internal import Processes
internal import Records

extension Configuration {
  /// The database's threads run at default priority. GRDB's own default is a negative nice value, which the system refuses to a service
  /// without privileges; libdispatch logs each refusal.
  static var ofStore: Configuration {
    var configuration = Configuration()
    configuration.qos = .default
    return configuration
  }
}

/// The database's file: how it is opened, and which of several processes writes to it.
///
/// SQLite allows one writer at a time, and other writers poll its lock. A process that commits in a loop would keep all others out.
/// A writer therefore first takes a fair lock, which is granted in the order of the requests.
struct DatabaseFile {
  /// How long a writer waits for the fair lock. A write takes milliseconds, so a process that keeps the lock for longer is stuck or frozen.
  static let lockTimeout = Duration.seconds(5)

  /// The page size of a new database, in bytes. Five tasks with a small body fill a page; two would fill three quarters of 4 KiB.
  private static let pageSize = 8192
  /// The size of the write-ahead log, in bytes, above which SQLite checkpoints it.
  private static let checkpointBytes = 16 << 20

  let path: String
  private let lockTimeout: Duration
  private let schema: Schema
  /// The fair lock; `nil` if its file cannot be opened. SQLite's own lock still protects the database.
  let writeLock: FairFileLock?
  /// The lock that shows this program's version to programs of other versions.
  private let presence: VersionLock?

  init(path: String, patience: Duration = Self.lockTimeout, schema: Schema = .current) {
    self.path = path
    self.lockTimeout = patience
    self.schema = schema
    writeLock = FairFileLock(path: path + SQLiteLedger.turnSuffix)
    presence = VersionLock(path: path + SQLiteLedger.turnSuffix, number: schema.newest)
  }

  /// Runs `body` with the fair lock.
  func write<T>(_ body: () throws -> T) throws -> T {
    guard writeLock?.lock(patience: lockTimeout) ?? true else { throw OpeningError.lockedByOther }
    defer { writeLock?.unlock() }
    return try body()
  }

  /// Opens the database and migrates it.
  /// - Parameters:
  ///   - mayCreate: whether a missing or empty database may be created.
  ///   - mustKnowAll: whether to refuse a database with unknown migrations, even if this version could use it.
  ///   - willWrite: called before the first write that depends on the keys.
  /// - Throws: `OpeningError`, and the errors of `willWrite`.
  func open(
    _ box: SecretBox, mayCreate: Bool, mustKnowAll: Bool = false, willWrite: () throws -> Void
  ) throws -> DatabasePool {
    do {
      return try write {
        guard mayCreate || size > 0 else { throw OpeningError.missing }
        try PrivateFiles.secure(database: path)
        let pool = try makePool()
        try prepare(pool, box, mayCreate: mayCreate, mustKnowAll, willWrite)
        presence?.lock()
        return pool
      }
    } catch let error as DatabaseError {
      throw OpeningError(error)
    }
  }

  /// The file's size in bytes; 0 if there is no file.
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
    // GRDB sets NORMAL when it enables WAL, which would not sync each commit.
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
      // Each opener holds the fair lock, so no older program can open the database in between.
      guard presence?.hasHolders(below: schema.oldest) != true else { throw OpeningError.older }
      try willWrite()
      try schema.raiseMinimumVersion(database)
    }
    try schema.migrator(box).migrate(pool)
    // Without room for a vacuum now, the next opening tries again.
    try? pool.writeWithoutTransaction { try PendingVacuum.remove($0) }
  }

  /// Checkpoints the write-ahead log, as far as no reader needs it, and closes the database.
  func close(_ pool: DatabasePool) {
    try? write {
      _ = try? pool.writeWithoutTransaction { try $0.checkpoint(.truncate) }
      try? pool.close()
    }
    presence?.unlock()
  }
}

extension OpeningError {
  init(_ error: DatabaseError) {
    switch error.resultCode {
    case .SQLITE_READONLY, .SQLITE_PERM: self = .readOnly
    case .SQLITE_BUSY, .SQLITE_LOCKED: self = .lockedByOther
    default: self = .failed(error.message ?? "\(error.resultCode)")
    }
  }
}

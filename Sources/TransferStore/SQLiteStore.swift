internal import FoundationEssentials
internal import GRDB
internal import TransferModel

/// The embedded store: one SQLite database in WAL mode, every commit on disk (synchronous FULL).
///
/// Writes from everywhere gather in a queue; a thread of its own takes all that wait and commits them as one
/// transaction, so that many requests share one fsync. Readers have connections of their own and never wait for it.
package final class SQLiteStore: TransferStore {
  private let disk: DatabasePool
  /// What ephemeral sessions have: a database that has no file.
  private let memory: DatabaseQueue
  private let ephemeral = EphemeralSessions()
  private let queue: CommitQueue
  let box: SecretBox

  /// Opens or creates the database at `path`.
  /// - Parameters:
  ///   - box: seals the secrets.
  ///   - published: hears the fragments of each commit, in order, once its writers have heard of it.
  package init(
    path: String, box: SecretBox, published: @escaping @Sendable ([JournalFragment]) -> Void
  ) throws(StoreError) {
    self.box = box
    do {
      disk = try Self.openDisk(path)
      memory = try Self.openMemory()
      for database in [disk, memory] as [any DatabaseWriter] {
        try Migrations.migrator(box).migrate(database)
      }
      // Where there is no room for that now, there may be when the store is opened again.
      try? disk.writeWithoutTransaction { try Overwritten.remove($0) }
      let reservation = try disk.read { database in
        SequenceReservation(
          last: max(
            try Int64.fetchOne(database, sql: "SELECT max(last) FROM journal") ?? 0,
            try Self.prunedEvents(database).through),
          reserved: try Int64.fetchOne(database, sql: "SELECT last FROM sequence_reservation") ?? 0)
      }
      queue = CommitQueue(
        disk: disk, memory: memory, ephemeral: ephemeral, box: box, reservation: reservation,
        published: published)
    } catch {
      throw StoreError(error)
    }
  }

  private static func openDisk(_ path: String) throws -> DatabasePool {
    var configuration = Configuration()
    configuration.label = "ferry-store"
    configuration.maximumReaderCount = 4
    configuration.busyMode = .timeout(5)
    configuration.prepareDatabase { database in
      try database.execute(
        sql: """
          PRAGMA synchronous = FULL;
          PRAGMA wal_autocheckpoint = 4000;
          PRAGMA journal_size_limit = 67108864;
          PRAGMA temp_store = MEMORY;
          """)
    }
    return try DatabasePool(path: path, configuration: configuration)
  }

  private static func openMemory() throws -> DatabaseQueue {
    var configuration = Configuration()
    configuration.label = "ferry-store-memory"
    configuration.prepareDatabase { database in
      // What is deleted is overwritten, and nothing spills into a file.
      try database.execute(
        sql: "PRAGMA temp_store = MEMORY; PRAGMA secure_delete = ON; PRAGMA cache_spill = OFF")
    }
    return try DatabaseQueue(configuration: configuration)
  }

  package func write(_ change: StoreChange) async throws(StoreError) {
    let result = await withCheckedContinuation { (continuation: CheckedContinuation<StoreError?, Never>) in
      queue.append(.request(change) { continuation.resume(returning: $0) })
    }
    if let result { throw result }
  }

  package func record(_ change: StoreChange, committed: @escaping @Sendable () -> Void) {
    queue.append(.fact(change, committed: committed))
  }

  package var isHealthy: Bool { queue.isHealthy }
  package var lastSequence: Int64 { queue.lastSequenceWritten }

  package func close() async {
    await withCheckedContinuation { continuation in queue.close { continuation.resume() } }
    try? disk.close()
    try? memory.close()
  }

  // MARK: Where to look

  var hasEphemeralSessions: Bool { !ephemeral.isEmpty }

  private func read<T: Sendable>(
    _ database: any DatabaseReader, _ body: @escaping @Sendable (Database) throws -> T
  ) async throws(StoreError) -> T {
    do { return try await database.read(body) } catch { throw StoreError(error) }
  }

  func readDisk<T: Sendable>(
    _ body: @escaping @Sendable (Database) throws -> T
  ) async throws(StoreError) -> T {
    try await read(disk, body)
  }

  func readMemory<T: Sendable>(
    _ body: @escaping @Sendable (Database) throws -> T
  ) async throws(StoreError) -> T {
    try await read(memory, body)
  }

  /// Where a session's things are.
  func read<T: Sendable>(
    of session: SessionID, _ body: @escaping @Sendable (Database) throws -> T
  ) async throws(StoreError) -> T {
    try await read(ephemeral.contains(session) ? memory : disk, body)
  }

  /// Of what does not say whose it is.
  func find<T: Sendable>(
    _ body: @escaping @Sendable (Database) throws -> T?
  ) async throws(StoreError) -> T? {
    if hasEphemeralSessions, let found = try await read(memory, body) { return found }
    return try await read(disk, body)
  }
}

internal import FoundationEssentials
internal import GRDB
internal import TransferModel

/// The embedded store: one SQLite database in WAL mode, every commit on disk (synchronous FULL).
///
/// Writes from everywhere gather in a queue; a thread of its own takes all that wait and commits them as one
/// transaction, so that many requests share one fsync. Readers have connections of their own and never wait for it.
package final class SQLiteStore: TransferStore {
  /// Behind the database's path: the file by which writers take turns.
  package static let turnSuffix = "-turn"
  private let file: DatabaseFile
  private let disk: DatabasePool
  /// What ephemeral sessions have: a database that has no file.
  private let memory: DatabaseQueue
  private let ephemeral = EphemeralSessions()
  private let queue: CommitQueue
  let box: SecretBox
  package let unreadable: UnreadableRows

  /// Opens the database at `path`, or makes it.
  /// - Parameters:
  ///   - box: seals the documents and the secrets.
  ///   - unreadable: hears of each row that cannot be read.
  ///   - mayCreate: whether one may be made where there is none, or nothing in it.
  ///   - willWrite: is called once nothing stands against the database, and before anything in it depends on the keys.
  ///   - published: hears the fragments of each commit, in order, once its writers have heard of it.
  /// - Throws: `OpeningError`, and what `willWrite` throws.
  package init(
    path: String, box: SecretBox, unreadable: UnreadableRows = UnreadableRows(), mayCreate: Bool = true,
    willWrite: () throws -> Void = {}, published: @escaping @Sendable ([JournalFragment]) -> Void
  ) throws {
    self.box = box
    self.unreadable = unreadable
    file = DatabaseFile(path: path)
    disk = try file.open(box, mayCreate: mayCreate, willWrite: willWrite)
    do {
      memory = try Self.openMemory()
      try Migrations.migrator(box).migrate(memory)
      let reservation = try disk.read { database in
        SequenceReservation(
          last: max(
            try Int64.fetchOne(database.prepared(.lastSequence)) ?? 0,
            try Self.prunedEvents(database).through),
          reserved: try Int64.fetchOne(database.prepared(.reservation)) ?? 0)
      }
      queue = CommitQueue(
        disk: disk, turns: file.turns, memory: memory, ephemeral: ephemeral, box: box,
        reservation: reservation, tenants: try disk.read { try SessionTenants.all($0) }, published: published)
    } catch let error as DatabaseError {
      throw OpeningError(error)
    }
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

  /// Calls `answer` from the thread that writes, between two commits.
  package func ping(_ answer: @escaping @Sendable () -> Void) { queue.ping(answer) }

  package func close() async {
    await withCheckedContinuation { continuation in queue.close { continuation.resume() } }
    file.close(disk)
    try? memory.close()
  }

  // MARK: Where to look

  var hasEphemeralSessions: Bool { !ephemeral.isEmpty }

  private func read<T: Sendable>(
    _ database: any DatabaseReader, _ body: @escaping @Sendable (Database) throws -> T
  ) async throws(StoreError) -> T {
    do { return try await database.read(body) } catch { throw StoreError(error) }
  }

  func reader(of table: StoredTable) -> StrictReader {
    StrictReader(table: table, box: box, unreadable: unreadable)
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

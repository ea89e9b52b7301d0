internal import GRDB
internal import Ledger
internal import TransferModel

/// The database on the disk, and the one in memory that has what ephemeral sessions have; and where to look for what.
struct StoreDatabases: Sendable {
  let disk: DatabasePool
  let memory: DatabaseQueue
  let ephemeral: EphemeralSessions
  let box: SecretBox
  let unreadable: UnreadableRows

  var hasEphemeralSessions: Bool { !ephemeral.isEmpty }

  func reader(of kind: RecordKind) -> StrictReader {
    StrictReader(kind: kind, box: box, unreadable: unreadable)
  }

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

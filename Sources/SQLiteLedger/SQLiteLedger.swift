internal import FoundationEssentials
internal import GRDB
package import Ledger
package import Records
internal import Synchronization
internal import TransferModel

/// The durable ledger: one SQLite database in WAL mode, with every commit synced to disk (`synchronous = FULL`).
///
/// Changes gather in a queue. A thread commits all waiting changes as one transaction, so that many requests share one fsync. Readers have
/// their own connections and never wait for the writer.
package final class SQLiteLedger: Ledger {
  /// The path of the writers' fair lock is the database's path with this suffix.
  package static let turnSuffix = "-turn"
  private let file: DatabaseFile
  let readers: LedgerReaders
  let queue: CommitQueue
  /// The ownership table as last read, with its number of changes. It saves a read whenever a process is woken.
  private struct Ownership {
    let changes: Int64
    let table: OwnershipTable
  }
  private let lastOwnership = Mutex<Ownership?>(nil)
  package let unreadable: UnreadableRows

  /// Opens the database at `path`, or creates it.
  /// - Parameters:
  ///   - box: seals the documents and the secrets.
  ///   - unreadable: records each row that cannot be read.
  ///   - mayCreate: whether a missing or empty database may be created.
  ///   - willWrite: called when all checks of the database have passed, before the first write that depends on the keys.
  ///   - fencedOff: called once if another process has taken over from this one.
  ///   - wrote: called after each commit with durable events, so that other processes can be notified.
  ///   - published: receives each commit of any process, in order, after the callbacks of its changes. `nil`: commits are not published.
  /// - Throws: `OpeningError`, and the errors of `willWrite`.
  package convenience init(
    path: String, box: SecretBox, unreadable: UnreadableRows = UnreadableRows(), mayCreate: Bool = true,
    willWrite: () throws -> Void = {}, fencedOff: @escaping @Sendable () -> Void = {},
    wrote: @escaping @Sendable () -> Void = {}, published: (@Sendable (Feed) -> Void)?
  ) throws {
    try self.init(
      DatabaseFile(path: path), box: box, unreadable: unreadable, mayCreate: mayCreate, willWrite: willWrite,
      fencedOff: fencedOff, wrote: wrote, published: published)
  }

  init(
    _ file: DatabaseFile, box: SecretBox, unreadable: UnreadableRows = UnreadableRows(),
    mayCreate: Bool = true, willWrite: () throws -> Void = {},
    fencedOff: @escaping @Sendable () -> Void = {}, wrote: @escaping @Sendable () -> Void = {},
    published: (@Sendable (Feed) -> Void)?
  ) throws {
    self.unreadable = unreadable
    self.file = file
    let disk = try file.open(box, mayCreate: mayCreate, willWrite: willWrite)
    do {
      let naming = try disk.read { try KeyCheck.naming($0, box) }
      let (numbers, tenants) = try disk.read { database in
        let written = try EventNumbers.written(database)
        return (
          EventNumbers(journal: written.journal, reserved: written.reserved),
          try SessionTenants.all(database)
        )
      }
      let writer = try LedgerWriter(
        disk: disk, turns: file.writeLock, patience: DatabaseFile.lockTimeout, box: naming,
        unreadable: unreadable,
        numbers: numbers, tenants: tenants, isHeard: published != nil)
      readers = LedgerReaders(disk: disk, box: naming, unreadable: unreadable)
      queue = CommitQueue(writer, fencedOff: fencedOff, wrote: wrote, published: published ?? { _ in })
    } catch let error as DatabaseError {
      throw OpeningError(error)
    }
  }

  package func append(_ entry: CommitEntry) { queue.append(entry) }

  package func publishRemoteCommits() { queue.follow() }

  package var epoch: Epoch? { queue.epoch }
  package func ownership() async throws(LedgerError) -> OwnershipTable {
    try await readers.read { [self] database in
      let changes = try Int64.fetchOne(database.prepared(.epoch)) ?? 0
      if let last = lastOwnership.withLock({ $0 }), last.changes == changes { return last.table }
      let table = try OwnershipTable(database)
      lastOwnership.withLock { $0 = Ownership(changes: changes, table: table) }
      return table
    }
  }

  package var refusal: LedgerError? { queue.refusal }
  package var lastSequence: Int64 { queue.lastSequence }
  package var highestSequence: Int64 { queue.highestSequence }

  package func ping(_ answer: @escaping @Sendable () -> Void) { queue.ping(answer) }

  package func close() async {
    await withCheckedContinuation { continuation in queue.close { continuation.resume() } }
    file.close(readers.disk)
  }
}

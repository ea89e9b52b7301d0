internal import FoundationEssentials
internal import GRDB
package import Ledger
package import Records
internal import Synchronization
internal import TransferModel

/// The embedded store: one SQLite database in WAL mode, every commit on disk (synchronous FULL).
///
/// Writes from everywhere gather in a queue; a thread of its own takes all that wait and commits them as one
/// transaction, so that many requests share one fsync. Readers have connections of their own and never wait for it.
package final class SQLiteLedger: Ledger {
  /// Behind the database's path: the file by which writers take turns.
  package static let turnSuffix = "-turn"
  private let file: DatabaseFile
  let readers: StoreReaders
  let queue: CommitQueue
  /// Who owned what when it was read last, and how often that had changed. Whoever hears a bell asks for it.
  private struct Ownership {
    let changes: Int64
    let table: OwnershipTable
  }
  private let lastOwnership = Mutex<Ownership?>(nil)
  package let unreadable: UnreadableRows

  /// Opens the database at `path`, or makes it.
  /// - Parameters:
  ///   - box: seals the documents and the secrets.
  ///   - unreadable: hears of each row that cannot be read.
  ///   - mayCreate: whether one may be made where there is none, or nothing in it.
  ///   - willWrite: is called once nothing stands against the database, and before anything in it depends on the keys.
  ///   - fencedOff: is called once where another process has taken over from this one.
  ///   - wrote: is called behind each commit that other processes have to hear of.
  ///   - published: hears of each commit, in order, once its writers have heard of it; and of those of other processes. nil: nobody does.
  /// - Throws: `OpeningError`, and what `willWrite` throws.
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
        disk: disk, turns: file.turns, patience: DatabaseFile.patience, box: naming, unreadable: unreadable,
        numbers: numbers, tenants: tenants, isHeard: published != nil)
      readers = StoreReaders(disk: disk, box: naming, unreadable: unreadable)
      queue = CommitQueue(writer, fencedOff: fencedOff, wrote: wrote, published: published ?? { _ in })
    } catch let error as DatabaseError {
      throw OpeningError(error)
    }
  }

  package func append(_ entry: CommitEntry) { queue.append(entry) }

  package func follow() { queue.follow() }

  package var epoch: Epoch? { queue.epoch }
  package func ownership() async throws(StoreError) -> OwnershipTable {
    try await readers.read { [self] database in
      let changes = try Int64.fetchOne(database.prepared(.epoch)) ?? 0
      if let last = lastOwnership.withLock({ $0 }), last.changes == changes { return last.table }
      let table = try OwnershipTable(database)
      lastOwnership.withLock { $0 = Ownership(changes: changes, table: table) }
      return table
    }
  }

  package var refusal: StoreError? { queue.refusal }
  package var lastSequence: Int64 { queue.lastSequence }
  package var highestSequence: Int64 { queue.highestSequence }

  /// Calls `answer` from the thread that writes, between two commits.
  package func ping(_ answer: @escaping @Sendable () -> Void) { queue.ping(answer) }

  package func close() async {
    await withCheckedContinuation { continuation in queue.close { continuation.resume() } }
    file.close(readers.disk)
  }
}

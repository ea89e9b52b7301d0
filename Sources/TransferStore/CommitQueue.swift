internal import EventLoop
internal import GRDB
internal import GRDBSQLite
internal import Glibc
internal import Synchronization
internal import TransferModel

/// What waits to be written, and the thread that writes it: everything that waits becomes one transaction.
///
/// Where that fails, each change is tried alone. A request that fails is told so; a fact, something that has
/// happened already, is kept and tried until the disk takes it, and the facts behind it wait, so that their order
/// holds.
final class CommitQueue: @unchecked Sendable {
  // Unchecked: `writer` is touched on the store's thread only.
  enum Entry: Sendable {
    case request(StoreChange, done: @Sendable (StoreError?) -> Void)
    case fact(StoreChange, committed: @Sendable () -> Void)

    var change: StoreChange {
      switch self {
      case .request(let change, _), .fact(let change, _): change
      }
    }
    var isFact: Bool { if case .fact = self { true } else { false } }
  }
  private struct State {
    var entries: [Entry] = []
    var isScheduled = false
    var isHealthy = true
    var whenClosed: (@Sendable () -> Void)?
  }

  private static let changesPerCommit = 1024
  private static let retryDelayMicroseconds: UInt32 = 200_000

  private let pool: DatabasePool
  private let box: SecretBox
  private let published: @Sendable ([JournalFragment]) -> Void
  private let state = Mutex(State())
  private let thread = WorkerPool(name: "ferry-store", threads: 1)
  private var writer: ChangeWriter?
  private let lastSequence: Atomic<Int64>

  init(
    pool: DatabasePool, box: SecretBox, lastSequence: Int64,
    published: @escaping @Sendable ([JournalFragment]) -> Void
  ) {
    self.pool = pool
    self.box = box
    self.published = published
    self.lastSequence = Atomic(lastSequence)
  }

  var lastSequenceWritten: Int64 { lastSequence.load(ordering: .relaxed) }
  var isHealthy: Bool { state.withLock { $0.isHealthy } }

  func append(_ entry: Entry) {
    let mustSchedule = state.withLock { state in
      state.entries.append(entry)
      defer { state.isScheduled = true }
      return !state.isScheduled
    }
    if mustSchedule { thread.submit { self.drain() } }
  }

  /// Writes what waits, then calls `done`.
  func close(_ done: @escaping @Sendable () -> Void) {
    thread.submit {
      self.drain()
      self.writer?.finalize()
      self.writer = nil
      self.thread.stop()
      done()
    }
  }

  // MARK: On the store's thread

  private func drain() {
    while true {
      let batch = state.withLock { state in
        let batch = Array(state.entries.prefix(Self.changesPerCommit))
        state.entries.removeFirst(batch.count)
        if batch.isEmpty { state.isScheduled = false }
        return batch
      }
      if batch.isEmpty { return }
      if let fault = commit(batch) { commitOneByOne(batch, fault) }
    }
  }

  /// Commits all of the batch or nothing; then tells the readers and the writers.
  private func commit(_ batch: [Entry]) -> SQLiteFault? {
    let first = lastSequence.load(ordering: .relaxed)
    var sequence = first
    let fragments: [JournalFragment]
    do {
      // Progress alone is told in its place among the commits, and not written.
      if batch.allSatisfy({ $0.change.isProgressOnly }) {
        fragments = batch.flatMap { ChangeWriter.fragments(of: $0.change.events, &sequence) }
      } else {
        fragments = try pool.writeWithoutTransaction { database in
          try transact(batch, on: database, &sequence)
        }
      }
    } catch let fault as SQLiteFault {
      return fault
    } catch {
      preconditionFailure("unexpected error from the database: \(error)")
    }
    lastSequence.store(sequence, ordering: .relaxed)
    // The writers first: who hears of an end on a stream and then asks for the task must find it ended.
    for entry in batch {
      switch entry {
      case .request(_, let done): done(nil)
      case .fact(_, let committed): committed()
      }
    }
    if !fragments.isEmpty { published(fragments) }
    return nil
  }

  private func transact(
    _ batch: [Entry], on database: Database, _ sequence: inout Int64
  ) throws -> [JournalFragment] {
    guard let connection = database.sqliteConnection else { preconditionFailure("the database is closed") }
    let writer = try self.writer ?? ChangeWriter(connection, box)
    self.writer = writer
    try writer.begin()
    do {
      var fragments: [JournalFragment] = []
      for entry in batch { try writer.write(entry.change, &sequence, &fragments) }
      try writer.commit()
      return fragments
    } catch {
      writer.rollback()
      throw error
    }
  }

  private func commitOneByOne(_ batch: [Entry], _ fault: SQLiteFault) {
    for (index, entry) in batch.enumerated() {
      guard let fault = batch.count == 1 ? fault : commit([entry]) else { continue }
      switch entry {
      case .request(_, let done): done(StoreError(fault))
      case .fact:
        guard fault.isPassing else { preconditionFailure("the database refuses a fact: \(fault.message)") }
        keep(batch[index...])
        usleep(Self.retryDelayMicroseconds)
        return
      }
    }
    state.withLock { $0.isHealthy = true }
  }

  /// Puts facts back at the head of the queue; requests among them fail now rather than wait for a disk.
  private func keep(_ entries: ArraySlice<Entry>) {
    for case .request(_, let done) in entries { done(.full) }
    state.withLock { state in
      state.entries.insert(contentsOf: entries.filter(\.isFact), at: 0)
      state.isHealthy = false
    }
  }
}

extension StoreError {
  init(_ fault: SQLiteFault) {
    self = fault.isFull ? .full : .unavailable(fault.message)
  }
  init(_ error: any Error) {
    if let error = error as? DatabaseError {
      self = error.resultCode == .SQLITE_FULL ? .full : .unavailable(error.message ?? "\(error.resultCode)")
    } else {
      self = .unavailable("\(error)")
    }
  }
}

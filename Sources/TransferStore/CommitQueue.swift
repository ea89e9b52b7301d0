internal import DequeModule
internal import EventLoop
internal import GRDB
internal import GRDBSQLite
internal import COpenSSL
internal import Glibc
internal import Synchronization
internal import TransferModel

/// What waits to be written, and the thread that writes it: everything that waits becomes one transaction.
///
/// Where that fails, each change is tried alone. A request that fails is told so; a fact, something that has
/// happened already, is kept and tried until the disk takes it, and the facts behind it wait, so that their order
/// holds.
final class CommitQueue: @unchecked Sendable {
  // Unchecked: writers, reservation, `tenants` and `hasRefused` are touched on the store's thread only.
  typealias Entry = CommitEntry
  private struct State {
    var entries = Deque<Entry>()
    /// Who asks whether the thread answers.
    var pings: [@Sendable () -> Void] = []
    var isScheduled = false
    var isHealthy = true
    var isClosed = false
  }

  private static let changesPerCommit = 1024
  private static let retryDelayMicroseconds: UInt32 = 200_000

  private let disk: DatabasePool
  private let turns: Turnstile?
  private let patience: Duration
  private let memory: DatabaseQueue
  private let ephemeral: EphemeralSessions
  private let box: SecretBox
  private let published: @Sendable ([JournalFragment]) -> Void
  private let state = Mutex(State())
  private let thread = WorkerPool(name: "ferry-store", threads: 1)
  private var diskWriter: ChangeWriter?
  private var memoryWriter: ChangeWriter?
  private let lastSequence: Atomic<Int64>
  private var reservation: SequenceReservation
  /// Whose the sessions are: their events are read by tenant.
  private var tenants: [SessionID: Tenant]
  /// The disk has refused facts, and nothing was written since.
  private var hasRefused = false

  /// - Parameters:
  ///   - turns: who else writes to the disk's database takes turns at it.
  ///   - patience: how long a turn is waited for.
  init(
    disk: DatabasePool, turns: Turnstile?, patience: Duration = DatabaseFile.patience, memory: DatabaseQueue,
    ephemeral: EphemeralSessions,
    box: SecretBox, reservation: SequenceReservation, tenants: [SessionID: Tenant],
    published: @escaping @Sendable ([JournalFragment]) -> Void
  ) {
    self.disk = disk
    self.turns = turns
    self.patience = patience
    self.memory = memory
    self.ephemeral = ephemeral
    self.box = box
    self.reservation = reservation
    self.tenants = tenants
    self.published = published
    lastSequence = Atomic(reservation.first)
  }

  var lastSequenceWritten: Int64 { lastSequence.load(ordering: .relaxed) }
  var isHealthy: Bool { state.withLock { $0.isHealthy } }

  func append(_ entry: Entry) {
    let mustSchedule = state.withLock { state -> Bool? in
      guard !state.isClosed else { return nil }
      state.entries.append(entry)
      defer { state.isScheduled = true }
      return !state.isScheduled
    }
    guard let mustSchedule else {
      // What comes after the end is found by the next process where it was found by this one.
      if case .request(_, let done) = entry { done(.unavailable("the store is closed")) }
      return
    }
    if mustSchedule { thread.submit { self.drain() } }
  }

  /// Calls `answer` on the store's thread: also while there is always more to write, or the disk takes nothing.
  func ping(_ answer: @escaping @Sendable () -> Void) {
    let mustSchedule = state.withLock { state in
      state.pings.append(answer)
      defer { state.isScheduled = true }
      return !state.isScheduled && !state.isClosed
    }
    if mustSchedule { thread.submit { self.drain() } }
  }

  /// Writes what waits, then calls `done`. What comes later is not written.
  func close(_ done: @escaping @Sendable () -> Void) {
    thread.submit {
      self.state.withLock { $0.isClosed = true }
      self.drain()
      self.diskWriter?.finalize()
      self.memoryWriter?.finalize()
      self.diskWriter = nil
      self.memoryWriter = nil
      self.thread.stop()
      done()
    }
  }

  // MARK: On the store's thread

  private func drain() {
    while true {
      let (batch, pings) = state.withLock { state in
        let batch = Array(state.entries.prefix(Self.changesPerCommit))
        state.entries.removeFirst(batch.count)
        if batch.isEmpty { state.isScheduled = false }
        defer { state.pings = [] }
        return (batch, state.pings)
      }
      for answer in pings { answer() }
      if batch.isEmpty { return }
      if let fault = commit(batch) { commitOneByOne(batch, fault) } else { recover() }
    }
  }

  /// What is written is written behind all facts that waited.
  private func recover() {
    guard hasRefused else { return }
    hasRefused = false
    state.withLock { $0.isHealthy = true }
  }

  /// Commits all of the batch or nothing; then tells the readers and the writers.
  private func commit(_ batch: [Entry]) -> SQLiteFault? {
    let first = lastSequence.load(ordering: .relaxed)
    var sequence = first
    let fragments: [JournalFragment]
    do {
      // Progress alone is told in its place among the commits, and not written.
      if batch.allSatisfy({ $0.change.isProgressOnly }) {
        fragments = batch.flatMap { JournalFragment.render($0.change.events, tenants, &sequence) }
      } else {
        let changes = batch.map { $0.change.divided(by: ephemeral) }
        fragments = try transact(changes, &sequence)
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

  /// A part of a change, with its events numbered.
  private final class Part {
    let change: StoreChange
    let fragments: [JournalFragment]

    init(_ change: StoreChange, _ tenants: inout [SessionID: Tenant], _ sequence: inout Int64) {
      self.change = change
      for session in change.sessions { tenants[session.id] = session.tenant }
      fragments = JournalFragment.render(change.events, tenants, &sequence)
    }
  }

  /// Writes the disk's parts as one transaction, and then memory's as another: readers of memory do not wait for the disk.
  private func transact(
    _ changes: [StoreChange.Division], _ sequence: inout Int64
  ) throws -> [JournalFragment] {
    var (disk, memory, fragments): ([Part], [Part], [JournalFragment]) = ([], [], [])
    for change in changes {
      disk.append(Part(change.disk, &tenants, &sequence))
      fragments += disk[disk.count - 1].fragments
      guard let kept = change.memory else { continue }
      memory.append(Part(kept, &tenants, &sequence))
      fragments += memory[memory.count - 1].fragments
    }
    let reserve = memory.isEmpty ? nil : reservation.next(after: sequence)
    // A full disk is nothing to what never goes there.
    if memory.isEmpty || reserve != nil || changes.contains(where: { !$0.disk.isEmpty }) {
      try inTurn {
        try transact(on: self.disk, &diskWriter) { writer in
          for part in disk { try writer.write(part.change, part.fragments) }
          if let reserve { try writer.reserve(reserve) }
        }
      }
    }
    if let reserve { reservation.hold(reserve) }
    defer {
      for parts in [disk, memory] {
        for index in parts.indices {
          if let session = parts[index].change.deletedSession { tenants[session] = nil }
        }
      }
    }
    guard !memory.isEmpty else { return fragments }
    do {
      try transact(on: self.memory, &memoryWriter) { writer in
        for part in memory { try writer.write(part.change, part.fragments) }
      }
    } catch {
      // The disk's part is committed: there is no way back.
      preconditionFailure("the database in memory refuses a change: \(error)")
    }
    return fragments
  }

  private func inTurn(_ body: () throws -> Void) throws {
    guard let turns else { return try body() }
    guard turns.enter(patience: patience) else { throw SQLiteFault.kept }
    defer { turns.leave() }
    try body()
  }

  private func transact<T>(
    on database: any DatabaseWriter, _ kept: inout ChangeWriter?, _ body: (ChangeWriter) throws -> T
  ) throws -> T {
    try database.writeWithoutTransaction { database in
      guard let connection = database.sqliteConnection else {
        preconditionFailure("the database is closed")
      }
      let writer = try kept ?? ChangeWriter(connection, box)
      kept = writer
      try writer.begin()
      do {
        let result = try body(writer)
        try writer.commit()
        return result
      } catch {
        writer.rollback()
        throw error
      }
    }
  }

  private func commitOneByOne(_ batch: [Entry], _ fault: SQLiteFault) {
    // None of them is at fault, and each alone would wait as long.
    guard !fault.isBusy else { return wait(batch[...], fault) }
    for (index, entry) in batch.enumerated() {
      guard let fault = batch.count == 1 ? fault : commit([entry]) else { continue }
      guard !fault.isBusy else { return wait(batch[index...], fault) }
      switch entry {
      case .request(_, let done): done(StoreError(fault))
      case .fact:
        guard fault.isPassing else { preconditionFailure("the database refuses a fact: \(fault.message)") }
        return wait(batch[index...], fault)
      }
    }
    recover()
  }

  private func wait(_ entries: ArraySlice<Entry>, _ fault: SQLiteFault) {
    keep(entries, fault)
    if hasRefused { usleep(Self.retryDelayMicroseconds) }
  }

  /// Puts facts back at the head of the queue; requests among them fail now rather than wait for a disk. What is for memory
  /// alone does not wait either.
  private func keep(_ entries: ArraySlice<Entry>, _ fault: SQLiteFault) {
    var waiting: [Entry] = []
    for entry in entries {
      let change = entry.change.divided(by: ephemeral)
      switch entry {
      case .request(_, let done):
        if change.memory == nil || !change.disk.isEmpty || commit([entry]) != nil { done(StoreError(fault)) }
      case .fact(_, let committed):
        guard let memory = change.memory else {
          waiting.append(entry)
          continue
        }
        if commit([.fact(memory) {}]) != nil {
          waiting.append(entry)
        } else if change.disk.isEmpty {
          committed()
        } else {
          waiting.append(.fact(change.disk, committed: committed))
        }
      }
    }
    // Nobody but the one who tries again finds out that the others have come to their end.
    if waiting.isEmpty, fault.isBusy, !state.withLock({ $0.isClosed }) { waiting = [.fact(StoreChange()) {}] }
    let kept = waiting
    hasRefused = !kept.isEmpty
    state.withLock { state in
      state.entries.prepend(contentsOf: kept)
      state.isHealthy = kept.isEmpty
    }
  }
}

extension StoreError {
  init(_ fault: SQLiteFault) {
    self = fault.isFull ? .full : .unavailable(fault.message)
  }
  init(_ error: any Error) {
    if let row = error as? UnreadableRow {
      self = .unreadable(row)
    } else if let error = error as? DatabaseError {
      self = error.resultCode == .SQLITE_FULL ? .full : .unavailable(error.message ?? "\(error.resultCode)")
    } else {
      self = .unavailable("\(error)")
    }
  }
}

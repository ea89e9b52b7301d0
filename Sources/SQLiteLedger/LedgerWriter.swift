internal import GRDB
internal import GRDBSQLite
internal import Ledger
internal import Processes
internal import Synchronization
internal import TransferModel

/// Writes changes into the two databases, the disk's and the one of ephemeral sessions in memory, and finds out what other processes
/// have written to the disk's. On the store's thread.
final class LedgerWriter: @unchecked Sendable {
  // Unchecked: touched on the store's thread only.
  /// Another process has taken over from this one.
  struct FencedOff: Error {}

  /// What came of some changes.
  struct Outcome {
    /// Why some of them were not written, by their places.
    var refused: [Int: StoreError] = [:]
    var feed: [Feed] = []
    var hasDurableEvents = false
  }

  private let disk: DatabasePool
  private let turns: Turnstile?
  private let patience: Duration
  private let memory: DatabaseQueue
  private let journal: StrictReader
  private let box: SecretBox
  /// Whether somebody hears what others commit.
  private let isHeard: Bool
  private var diskWriter: ChangeWriter?
  private var memoryWriter: ChangeWriter?
  private(set) var numbers: EventNumbers
  private var fence = Fence()
  /// What the disk's database was when it was last looked at: it differs once another process has written.
  private var version: Int64?
  /// Whose the sessions are: their events are read by tenant.
  private var tenants: [SessionID: Tenant]

  /// - Parameters:
  ///   - turns: who else writes to the disk's database takes turns at it.
  ///   - patience: how long a turn is waited for.
  init(
    disk: DatabasePool, turns: Turnstile?, patience: Duration, memory: DatabaseQueue, box: SecretBox,
    unreadable: UnreadableRows, numbers: EventNumbers, tenants: [SessionID: Tenant],
    isHeard: Bool
  ) throws {
    self.isHeard = isHeard
    emptyBytes = try memory.read { try Self.bytes(of: $0) }
    self.disk = disk
    self.turns = turns
    self.patience = patience
    self.memory = memory
    self.box = box
    journal = StrictReader(kind: .journal, box: box, unreadable: unreadable)
    self.numbers = numbers
    self.tenants = tenants
  }

  /// Size of the in-memory database in bytes, less that of an empty one.
  let memoryBytes = Atomic<Int64>(0)
  private let emptyBytes: Int64

  var isFencedOff: Bool { fence.isDown }
  var hasLeft: Bool { fence.hasLeft }
  var epoch: Epoch? { fence.epoch }
  var part: Epoch? { fence.part }

  func finalize() {
    diskWriter?.finalize()
    memoryWriter?.finalize()
    (diskWriter, memoryWriter) = (nil, nil)
  }

  // MARK: Progress

  /// Progress alone is told in its place among the commits, and not written.
  func tell(_ changes: [StoreChange]) -> Outcome {
    var sequence = numbers.last
    let fragments = changes.flatMap { JournalFragment.render($0.events, tenants, &sequence) }
    return Outcome(feed: [.committed(fragments)])
  }

  // MARK: Writing

  /// Memory's part of a change, with its events numbered.
  private final class Part {
    let change: StoreChange
    let fragments: [JournalFragment]
    var hasNumbers: Bool { fragments.contains { !$0.isProgressOnly } }

    init(_ change: StoreChange, _ fragments: [JournalFragment]) {
      self.change = change
      self.fragments = fragments
    }
  }

  /// What one transaction comes to, before it is committed.
  private struct Draft {
    var sequence: Int64
    var outcome = Outcome()
    var fragments: [JournalFragment] = []
    var memory: [Part] = []
    var reserved: Int64?
    var fence: Fence
  }

  /// Writes the disk's parts as one transaction, and then memory's as another: readers of memory do not wait for the disk.
  func write(_ changes: [StoreChange.Division]) throws -> Outcome {
    var draft: Draft
    if try needsDisk(changes) {
      let known = (numbers, version)
      do { draft = try inTurn { try writeDisk(changes) } } catch {
        // What others have written was read in vain: nobody was told of it.
        (numbers, version) = known
        throw error
      }
    } else {
      draft = Draft(sequence: numbers.last, fence: fence)
      for (index, change) in changes.enumerated() { try add(change, at: index, to: &draft, nil) }
    }
    if let reserved = draft.reserved { numbers.hold(reserved: reserved) }
    fence = draft.fence
    numbers.advance(to: draft.sequence)
    try write(draft.memory)
    for (index, change) in changes.enumerated() where draft.outcome.refused[index] == nil {
      for session in [change.disk.deletedSession, change.memory?.deletedSession] {
        if let session { tenants[session] = nil }
      }
    }
    if !draft.fragments.isEmpty { draft.outcome.feed.append(.committed(draft.fragments)) }
    return draft.outcome
  }

  /// A full disk is nothing to what never goes there. Who writes nothing at all wants to know whether he could.
  private func needsDisk(_ changes: [StoreChange.Division]) throws -> Bool {
    guard changes.contains(where: { $0.memory != nil }), changes.allSatisfy(\.disk.isEmpty) else {
      return true
    }
    let events = changes.reduce(0) { $0 + ($1.memory?.events.count { !$0.type.isProgress } ?? 0) }
    guard events > 0 else { return false }
    return try isBehind() || numbers.reservation(for: numbers.last + Int64(events)) != nil
  }

  private func writeDisk(_ changes: [StoreChange.Division]) throws -> Draft {
    try transact(on: disk, &diskWriter) { [self] database, writer in
      let gap = try catchUp(database)
      if fence.isDown { throw FencedOff() }
      var draft = Draft(sequence: numbers.last, fence: fence)
      if let gap { draft.outcome.feed.append(gap) }
      for (index, change) in changes.enumerated() {
        try add(change, at: index, to: &draft, (database, writer))
      }
      if draft.memory.contains(where: \.hasNumbers), let reserve = numbers.reservation(for: draft.sequence) {
        try writer.reserve(reserve)
        draft.reserved = reserve
      }
      return draft
    }
  }

  /// - Parameter disk: nil where nothing of it is for the disk.
  private func add(
    _ change: StoreChange.Division, at index: Int, to draft: inout Draft,
    _ disk: (database: Database, writer: ChangeWriter)?
  ) throws {
    if let obstacle = try obstacle(to: change, draft.fence, disk?.database) {
      draft.outcome.refused[index] = obstacle
      return
    }
    if let disk, let ownership = change.disk.ownership,
      try !draft.fence.write(ownership, in: disk.database, disk.writer.statements)
    {
      draft.outcome.refused[index] = .notOwner
      return
    }
    if let disk, !change.disk.isEmpty {
      try findTenants(of: change.disk.events, in: disk.database)
      let fragments = render(change.disk, &draft.sequence)
      try disk.writer.write(change.disk, fragments)
      if fragments.contains(where: { !$0.isProgressOnly }) { draft.outcome.hasDurableEvents = true }
      draft.fragments += fragments
    }
    guard let memory = change.memory else { return }
    let part = Part(memory, render(memory, &draft.sequence))
    draft.memory.append(part)
    draft.fragments += part.fragments
  }

  /// Why a change is not to be written. What is in memory alone nobody else writes, and a change with conditions of that comes first in its
  /// transaction (`CommitQueue`).
  private func obstacle(
    to change: StoreChange.Division, _ fence: Fence, _ disk: Database?
  ) throws -> StoreError? {
    if let disk {
      if let session = change.disk.owner, !fence.admits(session) { return .notOwner }
      if let unmet = try change.disk.conditions.first(where: { try !$0.holds(in: disk, box) }) {
        return .unmet(unmet)
      }
    }
    guard let conditions = change.memory?.conditions, !conditions.isEmpty else { return nil }
    return try on(memory, &memoryWriter) { database, _ in
      try conditions.first { try !$0.holds(in: database, box) }.map { .unmet($0) }
    }
  }

  /// Sessions may have been another process's.
  private func findTenants(of events: [TransferEvent], in database: Database) throws {
    var last: SessionID?
    for event in events where event.sessionID != last {
      last = event.sessionID
      guard tenants[event.sessionID] == nil else { continue }
      tenants[event.sessionID] = try SessionTenants.tenant(of: event.sessionID, database)
    }
  }

  private func render(_ change: StoreChange, _ sequence: inout Int64) -> [JournalFragment] {
    for session in change.sessions { tenants[session.id] = session.tenant }
    return JournalFragment.render(change.events, tenants, &sequence)
  }

  private func write(_ parts: [Part]) throws {
    guard !parts.isEmpty else { return }
    do {
      try transact(on: memory, &memoryWriter) { _, writer in
        for part in parts { try writer.write(part.change, part.fragments) }
      }
      try on(memory, &memoryWriter) { [self] database, _ in
        memoryBytes.store(try Self.bytes(of: database) - emptyBytes, ordering: .relaxed)
      }
    } catch {
      // The disk's part is committed: there is no way back.
      preconditionFailure("the database in memory refuses a change: \(error)")
    }
  }

  // MARK: What others have written

  /// Looks for what other processes have committed.
  func follow() throws -> [Feed] {
    try on(disk, &diskWriter) { [self] database, _ in [try catchUp(database)].compactMap { $0 } }
  }

  private static func bytes(of database: Database) throws -> Int64 {
    try Int64.fetchOne(database.prepared(.bytes)) ?? 0
  }

  private func isBehind() throws -> Bool {
    try on(disk, &diskWriter) { [self] database, _ in try Self.version(of: database) != version }
  }

  private static func version(of database: Database) throws -> Int64? {
    try Int64.fetchOne(database.prepared(.dataVersion))
  }

  /// Learns of the numbers that others have given out, and of the events.
  private func catchUp(_ database: Database) throws -> Feed? {
    let current = try Self.version(of: database)
    guard current != version else { return nil }
    let known = numbers.newest
    let written = try EventNumbers.written(database)
    try fence.look(in: database)
    var rows: [JournalFragment] = []
    if written.journal > known, isHeard {
      rows = try journal.all(database, .fragmentsAfter, [known, Feed.gapLimit + 1]) {
        row throws(UnreadableRow) in try JournalFragment(row)
      }
    }
    numbers.catchUp(journal: written.journal, reserved: written.reserved)
    version = current
    guard written.journal > known, isHeard else { return nil }
    return rows.count > Feed.gapLimit ? .leap(after: known) : .committed(rows)
  }

  // MARK: Transactions

  private func inTurn<T>(_ body: () throws -> T) throws -> T {
    guard let turns else { return try body() }
    guard turns.enter(patience: patience) else { throw SQLiteFault.kept }
    defer { turns.leave() }
    return try body()
  }

  private func on<T>(
    _ database: any DatabaseWriter, _ kept: inout ChangeWriter?,
    _ body: (Database, ChangeWriter) throws -> T
  ) throws -> T {
    try database.writeWithoutTransaction { database in
      guard let connection = database.sqliteConnection else {
        preconditionFailure("the database is closed")
      }
      let writer = try kept ?? ChangeWriter(connection, box)
      kept = writer
      return try body(database, writer)
    }
  }

  private func transact<T>(
    on database: any DatabaseWriter, _ kept: inout ChangeWriter?,
    _ body: (Database, ChangeWriter) throws -> T
  ) throws -> T {
    try on(database, &kept) { database, writer in
      try writer.begin()
      do {
        let result = try body(database, writer)
        try writer.commit()
        return result
      } catch {
        writer.rollback()
        throw error
      }
    }
  }
}

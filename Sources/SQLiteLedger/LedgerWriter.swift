internal import GRDB
internal import GRDBSQLite
internal import Ledger
internal import Processes
internal import Records
internal import TransferModel

/// A writer of changes and reader of other processes' commits, on the writer thread.
final class LedgerWriter: @unchecked Sendable {
  // Unchecked: touched on the writer thread only.
  /// The error if another process has taken over from this one.
  struct FencedOff: Error {}

  /// The outcome of a batch of entries.
  struct Outcome {
    /// The error of each refused entry, by its index in the batch.
    var refused: [Int: LedgerError] = [:]
    /// Commits of other processes before this batch.
    var gap: Feed?
    var fragments: [JournalFragment] = []
    /// Changes for other ledgers, in order.
    var numbered: [Numbered] = []
    var hasDurableEvents = false

    /// Returns all events in the order of their numbers.
    /// - Parameter others: the results of `numbered`.
    func fragments(with others: [Result<[JournalFragment], LedgerError>]) -> [JournalFragment] {
      guard !others.isEmpty else { return fragments }
      var (all, taken): ([JournalFragment], Int) = ([], 0)
      for (numbered, others) in zip(numbered, others) {
        all += fragments[taken..<numbered.fragmentsBefore]
        if case .success(let others) = others { all += others }
        taken = numbered.fragmentsBefore
      }
      return all + fragments[taken...]
    }
  }
  struct Numbered {
    let change: LedgerChange
    let writer: any NumberedWriter
    /// The last event number before the change.
    let last: Int64
    /// The number of the outcome's fragments that precede the change.
    let fragmentsBefore: Int
  }

  private let disk: DatabasePool
  private let turns: FairFileLock?
  private let patience: Duration
  private let journal: StrictReader
  private let box: SecretBox
  /// Whether commits of other processes are published.
  private let publishesRemoteCommits: Bool
  private var diskWriter: ChangeWriter?
  private(set) var numbers: EventNumbers
  private var fence = Fence()
  /// SQLite's data version at the last look. It differs after another process has written.
  private var version: Int64?
  /// The tenants of the sessions. Events are read by tenant.
  private var tenants: [SessionID: Tenant]

  /// - Parameters:
  ///   - turns: the fair lock that all writers of the database use.
  ///   - patience: how long to wait for the fair lock.
  init(
    disk: DatabasePool, turns: FairFileLock?, patience: Duration, box: SecretBox, unreadable: UnreadableRows,
    numbers: EventNumbers, tenants: [SessionID: Tenant], isHeard: Bool
  ) throws {
    self.publishesRemoteCommits = isHeard
    self.disk = disk
    self.turns = turns
    self.patience = patience
    self.box = box
    journal = StrictReader(kind: .journal, box: box, unreadable: unreadable)
    self.numbers = numbers
    self.tenants = tenants
  }

  var isFencedOff: Bool { fence.isClosed }
  var hasLeft: Bool { fence.hasLeft }
  var epoch: Epoch? { fence.epoch }
  var part: Epoch? { fence.ownerFilter }

  func finalize() {
    diskWriter?.finalize()
    diskWriter = nil
  }

  // MARK: Writing

  /// The result of one transaction, before its commit.
  private struct PendingTransaction {
    var sequence: Int64
    var outcome = Outcome()
    var reserved: Int64?
    var fence: Fence
  }

  /// Writes the durable changes in one transaction, and numbers the events of the others.
  func write(_ entries: [CommitEntry]) throws -> Outcome {
    var draft: PendingTransaction
    if try needsDisk(entries) {
      let known = (numbers, version)
      do { draft = try inTurn { try writeDisk(entries) } } catch {
        // The events of other processes that the transaction read were not published, so they are read again.
        (numbers, version) = known
        throw error
      }
    } else {
      draft = PendingTransaction(sequence: numbers.last, fence: fence)
      for (index, entry) in entries.enumerated() { try add(entry, at: index, to: &draft, nil) }
    }
    if let reserved = draft.reserved { numbers.setReservation(reserved: reserved) }
    fence = draft.fence
    numbers.advance(to: draft.sequence)
    for (index, entry) in entries.enumerated() where draft.outcome.refused[index] == nil {
      if let session = entry.deletedSession { tenants[session] = nil }
    }
    return draft.outcome
  }

  /// Returns whether a transaction is needed. Progress and numbered entries need none, unless numbers must be reserved. An empty change
  /// needs a transaction, because it tests the disk.
  private func needsDisk(_ entries: [CommitEntry]) throws -> Bool {
    var count = 0
    for entry in entries {
      guard entry.isNumbered || entry.isProgressOnly else { return true }
      count += entry.numbersElsewhere
    }
    guard count > 0 else { return false }
    return try isBehind() || numbers.reservation(for: numbers.last + Int64(count)) != nil
  }

  private func writeDisk(_ entries: [CommitEntry]) throws -> PendingTransaction {
    try transact { [self] database, writer in
      let gap = try catchUp(database)
      if fence.isClosed { throw FencedOff() }
      var draft = PendingTransaction(sequence: numbers.last, fence: fence)
      draft.outcome.gap = gap
      for (index, entry) in entries.enumerated() {
        try add(entry, at: index, to: &draft, (database, writer))
      }
      if entries.contains(where: { $0.numbersElsewhere > 0 }),
        let reserve = numbers.reservation(for: draft.sequence)
      {
        try writer.reserve(reserve)
        draft.reserved = reserve
      }
      return draft
    }
  }

  /// - Parameter disk: the open transaction; `nil` if no entry changes the database.
  private func add(
    _ entry: CommitEntry, at index: Int, to draft: inout PendingTransaction,
    _ disk: (database: Database, writer: ChangeWriter)?
  ) throws {
    switch entry {
    case .numbered(let entry, let writer):
      draft.outcome.numbered.append(
        Numbered(
          change: entry.change, writer: writer, last: draft.sequence,
          fragmentsBefore: draft.outcome.fragments.count))
      draft.sequence += Int64(entry.change.numberCount)
    case .request(let change, _), .fact(let change, _):
      if let disk {
        draft.outcome.refused[index] = try write(change, to: &draft, disk.database, disk.writer)
      } else {
        draft.outcome.fragments += render(change, &draft.sequence)
      }
    }
  }

  /// Writes one change.
  /// - Returns: the reason if the change was not written.
  private func write(
    _ change: LedgerChange, to draft: inout PendingTransaction, _ database: Database, _ writer: ChangeWriter
  ) throws -> LedgerError? {
    if !change.isProgressOnly {
      if let session = change.owner, !draft.fence.admits(session) { return .notOwner }
      if let unmet = try change.conditions.first(where: { try !$0.holds(in: database, box) }) {
        return .conditionFailed(unmet)
      }
    }
    if let ownership = change.ownership,
      try !draft.fence.write(ownership, in: database, writer.statements)
    {
      return .notOwner
    }
    guard !change.isEmpty else { return nil }
    try findTenants(of: change, in: database)
    let fragments = render(change, &draft.sequence)
    try writer.write(change, fragments, tenants)
    if fragments.contains(where: { !$0.isProgressOnly }) { draft.outcome.hasDurableEvents = true }
    draft.outcome.fragments += fragments
    return nil
  }

  /// Looks up the tenants of unknown sessions, which other processes may have created.
  private func findTenants(of change: LedgerChange, in database: Database) throws {
    var last: SessionID?
    func find(_ session: SessionID) throws {
      guard session != last else { return }
      last = session
      guard tenants[session] == nil else { return }
      tenants[session] = try SessionTenants.tenant(of: session, database)
    }
    for event in change.events { try find(event.sessionID) }
    for task in change.createdTasks { try find(task.sessionID) }
  }

  private func render(_ change: LedgerChange, _ sequence: inout Int64) -> [JournalFragment] {
    for session in change.sessions { tenants[session.id] = session.tenant }
    return JournalFragment.render(change.events, tenants, &sequence, tags: change.tags)
  }

  // MARK: Commits of other processes

  /// Reads the commits of other processes.
  func follow() throws -> [Feed] {
    try onDisk { [self] database, _ in [try catchUp(database)].compactMap { $0 } }
  }

  private func isBehind() throws -> Bool {
    try onDisk { [self] database, _ in try Self.version(of: database) != version }
  }

  private static func version(of database: Database) throws -> Int64? {
    try Int64.fetchOne(database.prepared(.dataVersion))
  }

  /// Reads the numbers and the events of other processes.
  private func catchUp(_ database: Database) throws -> Feed? {
    let current = try Self.version(of: database)
    guard current != version else { return nil }
    let known = numbers.newest
    let written = try EventNumbers.written(database)
    try fence.refresh(in: database)
    var rows: [JournalFragment] = []
    if written.journal > known, publishesRemoteCommits {
      rows = try journal.all(database, .fragmentsAfter, [known, Feed.gapLimit + 1]) {
        row throws(UnreadableRow) in try JournalFragment(row)
      }
    }
    numbers.catchUp(journal: written.journal, reserved: written.reserved)
    version = current
    guard written.journal > known, publishesRemoteCommits else { return nil }
    return rows.count > Feed.gapLimit ? .gap(after: known) : .committed(rows)
  }

  // MARK: Transactions

  private func inTurn<T>(_ body: () throws -> T) throws -> T {
    guard let turns else { return try body() }
    guard turns.lock(patience: patience) else { throw SQLiteFault.locked }
    defer { turns.unlock() }
    return try body()
  }

  private func onDisk<T>(_ body: (Database, ChangeWriter) throws -> T) throws -> T {
    try disk.writeWithoutTransaction { [self] database in
      guard let connection = database.sqliteConnection else {
        preconditionFailure("the database is closed")
      }
      let writer = try diskWriter ?? ChangeWriter(connection, box)
      diskWriter = writer
      return try body(database, writer)
    }
  }

  private func transact<T>(_ body: (Database, ChangeWriter) throws -> T) throws -> T {
    try onDisk { database, writer in
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

extension CommitEntry {
  /// The event numbers that another ledger needs.
  fileprivate var numbersElsewhere: Int { isNumbered ? change.numberCount : 0 }
}

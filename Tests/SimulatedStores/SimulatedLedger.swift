internal import DequeModule
package import Ledger
package import MemoryLedger
internal import Synchronization
internal import TransferCore
package import TransferModel

/// A simulated durable ledger of one process, without threads and timers. The test decides when each change is committed.
///
/// The database outlives the ledger and may be shared with those of other processes. Acknowledged changes are in the database
/// (`write` has returned, `committed` was called). `crash` decides about the others.
package final class SimulatedLedger: Ledger, MemoryRowsReading {
  package enum Mode: Sendable {
    /// Changes are committed at once. Callbacks run before `record` returns, so its caller must not hold a lock that they take.
    case atOnce
    /// Changes are committed by `commitNext` and `commitAll`.
    case whenTold
  }
  /// A reason why the database refuses writes.
  package enum Fault: Sendable {
    case full, unavailable

    package var error: LedgerError { self == .full ? .full : .unavailable("kept out") }
  }
  private struct State {
    var entries = Deque<CommitEntry>()
    /// Facts that the database has refused. They are written first when the fault ends.
    var refused = Deque<CommitEntry>()
    /// How many of the first `entries` were refused before.
    var retried = 0
    /// The error of the last write; `nil` if it succeeded.
    var refusal: LedgerError?
    /// Whether this process has noticed that another has taken over.
    var isFencedOff = false
    var isDraining = false
    var seen = SimulatedFence()
    var fault: Fault?
    var numbers: EventNumbers
    /// The database's version at the last look.
    var version: Int
    /// The tenants of the sessions.
    var tenants: [SessionID: Tenant]
    /// The error of all later calls.
    var end: LedgerError?
    /// Facts whose callbacks never run.
    var buried: [CommitEntry] = []
  }

  package let database: SimulatedDatabase
  package let unreadable: UnreadableRows
  private let mode: Mode
  private let state: Mutex<State>
  private let observed: Observer?
  private let published: @Sendable (Feed) -> Void

  /// Receives each committed change with its numbered events. It must not use the ledger.
  package typealias Observer = @Sendable (LedgerChange, [JournalFragment]) -> Void

  /// - Parameters:
  ///   - unreadable: records each row that cannot be read.
  ///   - observed: receives each change at its commit, even if the writer is never notified.
  ///   - published: receives each commit of any process, in order, after the callbacks of its changes.
  package init(
    on database: SimulatedDatabase = SimulatedDatabase(), _ mode: Mode = .whenTold,
    unreadable: UnreadableRows = UnreadableRows(), observed: Observer? = nil,
    published: @escaping @Sendable (Feed) -> Void = { _ in }
  ) {
    self.database = database
    self.mode = mode
    self.unreadable = unreadable
    self.observed = observed
    self.published = published
    state = database.rows.withLock { rows in
      let numbers = EventNumbers(journal: rows.lastSequence, reserved: rows.reservedSequence)
      return Mutex(State(numbers: numbers, version: rows.version, tenants: [:]))
    }
  }

  // MARK: Writing

  package func append(_ entry: CommitEntry) {
    if InjectedFault.publishesBeforeTheCommit.isPresent { publishTooEarly(entry.change) }
    let isAcknowledged = InjectedFault.acknowledgesBeforeTheCommit.isPresent && !entry.isFact
    let entry = isAcknowledged ? entry.unanswered : entry
    let (end, mustDrain) = state.withLock { state -> (LedgerError?, Bool) in
      guard state.end == nil else {
        if entry.isFact { state.buried.append(entry) }
        return (state.end, false)
      }
      state.entries.append(entry)
      guard mode == .atOnce, !state.isDraining else { return (nil, false) }
      state.isDraining = true
      return (nil, true)
    }
    if let end { entry.fail(end) }
    if isAcknowledged { entry.complete(end) }
    if mustDrain { commitAll() }
  }

  private func publishTooEarly(_ change: LedgerChange) {
    let fragments = state.withLock { state in
      var sequence = state.numbers.last
      return JournalFragment.render(change.events, state.tenants, &sequence, tags: change.tags)
    }
    published(.committed(fragments))
  }

  /// The number of changes that wait to be committed.
  package var waitingCount: Int { state.withLock { $0.refused.count + $0.entries.count } }

  /// Commits all waiting changes and those that their callbacks add, until the database refuses one.
  package func commitAll() { while commitNext() {} }

  /// Commits the oldest waiting change and calls its callback. If the database refuses writes, a request fails and a fact waits.
  /// - Returns: whether there was a change.
  @discardableResult
  package func commitNext() -> Bool {
    let next = state.withLock { state -> Step? in
      guard state.end == nil, let entry = state.entries.popFirst() else {
        state.isDraining = false
        return nil
      }
      return step(entry, &state)
    }
    guard let next else { return false }
    // The writer first: a client that sees a task's end on a stream and then requests the task must find it ended.
    next.answer?.complete(next.error)
    for feed in next.feed { published(feed) }
    return true
  }

  /// The callbacks after a commit, which run outside the lock.
  private struct Step {
    var answer: CommitEntry?
    var error: LedgerError?
    var feed: [Feed] = []
  }

  private func step(_ entry: CommitEntry, _ state: inout State) -> Step {
    guard let fault = state.fault, needsDatabase(entry, state) else { return commit(entry, &state) }
    guard !entry.isFact else { return putAside(entry, &state) }
    if fault == .unavailable { state.refusal = fault.error }
    return Step(answer: entry, error: fault.error)
  }

  /// Returns whether the entry must wait while writes fail. Progress is published without a write, but after earlier waiting changes.
  private func needsDatabase(_ entry: CommitEntry, _ state: borrowing State) -> Bool {
    guard entry.isNumbered else { return !entry.change.isProgressOnly || !state.refused.isEmpty }
    if state.refused.contains(where: { $0.isNumbered }) { return true }
    let count = Int64(entry.change.numberCount)
    return count > 0 && state.numbers.reservation(for: state.numbers.last + count) != nil
  }

  private func putAside(_ entry: CommitEntry, _ state: inout State) -> Step {
    state.refused.append(entry)
    state.refusal = state.fault?.error
    return Step()
  }

  private func commit(_ entry: CommitEntry, _ state: inout State) -> Step {
    defer {
      state.retried = max(0, state.retried - 1)
      // All facts that waited precede this write.
      if state.fault == nil, state.retried == 0 { state.refusal = nil }
    }
    return database.rows.withLock { commit(entry, &$0, &state) }
  }

  /// Commits the entry under the database's lock, so that its conditions stay true until it is written.
  private func commit(_ entry: CommitEntry, _ rows: inout MemoryRows, _ state: inout State) -> Step {
    let gap = catchUp(rows, &state)
    let table = state.seen.table(&rows)
    if state.seen.isFencedOff(by: table) {
      state.isFencedOff = true
      guard entry.isFact else { return Step(answer: entry, error: .fencedOff) }
      state.buried.append(entry)
      return Step()
    }
    let change = entry.change
    if InjectedFault.losesACommit.isPresent, !change.newDeliveries.isEmpty || !change.consumedReports.isEmpty
    {
      return Step(answer: entry, feed: gap)
    }
    var sequence = state.numbers.last
    let written: Result<[JournalFragment], LedgerError> =
      if case .numbered(let entry, let writer) = entry {
        number(entry.change.flawed, writer, &sequence, &rows, &state)
      } else if change.isProgressOnly {
        .success(render(change, &sequence, rows, &state))
      } else {
        write(change.flawed, &sequence, &rows, &state, table)
      }
    guard case .success(let fragments) = written else {
      guard case .failure(let error) = written else { return Step() }
      if case .notOwner = error {
      } else if entry.isFact {
        preconditionFailure("the database refused a fact: \(error)")
      }
      return Step(answer: entry, error: error, feed: gap)
    }
    if !InjectedFault.givesANumberTwice.isPresent { state.numbers.advance(to: sequence) }
    observed?(change, fragments)
    let told = InjectedFault.tellsAllTenants.isPresent ? fragments.flatMap { toAll($0, state) } : fragments
    return Step(answer: entry, feed: gap + (told.isEmpty ? [] : [.committed(told)]))
  }

  /// Returns a copy of the fragment for each tenant.
  private func toAll(_ fragment: JournalFragment, _ state: borrowing State) -> [JournalFragment] {
    Set(state.tenants.values).union([.default]).map { tenant in
      JournalFragment(
        first: fragment.first, last: fragment.last, tenant: tenant, sessionID: fragment.sessionID,
        taskID: fragment.taskID, tags: fragment.tags, time: fragment.time, bytes: fragment.bytes,
        bytesWithProgress: fragment.bytesWithProgress)
    }
  }

  /// Assigns numbers to events of another ledger.
  private func number(
    _ change: LedgerChange, _ writer: any NumberedWriter, _ sequence: inout Int64, _ rows: inout MemoryRows,
    _ state: inout State
  ) -> Result<[JournalFragment], LedgerError> {
    let last = sequence
    sequence += Int64(change.numberCount)
    if sequence > last, let reserve = state.numbers.reservation(for: sequence) {
      rows.reservedSequence = reserve
      rows.version += 1
      state.version = rows.version
      state.numbers.setReservation(reserved: reserve)
    }
    return writer.write(change, after: last)
  }

  private func write(
    _ change: LedgerChange, _ sequence: inout Int64, _ rows: inout MemoryRows, _ state: inout State,
    _ table: OwnershipTable
  ) -> Result<[JournalFragment], LedgerError> {
    guard state.seen.admits(change.owner, table) else { return .failure(.notOwner) }
    if let obstacle = rows.error(to: change) { return .failure(obstacle) }
    if let ownership = change.ownership, !state.seen.write(ownership, &rows) { return .failure(.notOwner) }
    let fragments = render(change, &sequence, rows, &state)
    if let session = change.deletedSession { state.tenants[session] = nil }
    rows.write(change, fragments)
    state.version = rows.version
    return .success(fragments)
  }

  private func render(
    _ change: LedgerChange, _ sequence: inout Int64, _ rows: borrowing MemoryRows, _ state: inout State
  ) -> [JournalFragment] {
    for session in change.sessions { state.tenants[session.id] = session.tenant }
    for event in change.events where state.tenants[event.sessionID] == nil {
      // The session may have been created by another process.
      state.tenants[event.sessionID] = rows.sessions[event.sessionID]?.session.tenant
    }
    let tenants =
      InjectedFault.tellsAnotherTenant.isPresent ? state.tenants.mapValues { _ in .default } : state.tenants
    return JournalFragment.render(change.events, tenants, &sequence, tags: change.tags)
  }

  // MARK: Commits of other processes

  package func publishRemoteCommits() { append(.fact(LedgerChange()) { _ in }) }

  /// Reads the numbers and the events of other processes.
  private func catchUp(_ rows: borrowing MemoryRows, _ state: inout State) -> [Feed] {
    guard rows.version != state.version else { return [] }
    state.version = rows.version
    let (known, newest) = (state.numbers.newest, rows.lastSequence)
    state.numbers.catchUp(journal: newest, reserved: rows.reservedSequence)
    guard newest > known else { return [] }
    let new = Array(rows.journal.all(after: known).prefix(Feed.gapLimit + 1))
    guard new.count <= Feed.gapLimit else { return [.gap(after: known)] }
    let fragments = new.map(\.row).filter { !rows.isDamaged($0) }
    return [.committed(InjectedFault.jumpsToTheNewest.isPresent ? fragments.suffix(1) : fragments)]
  }

  // MARK: Faults

  /// Starts or ends a fault. At its end, the refused facts are committed first.
  package func set(_ fault: Fault?) {
    state.withLock { state in
      state.fault = fault
      guard fault == nil else { return }
      state.retried = state.refused.count
      if !InjectedFault.forgetsWhatWasRefused.isPresent { state.entries.prepend(contentsOf: state.refused) }
      state.refused = []
    }
    if fault == nil, mode == .atOnce { commitAll() }
  }

  /// Simulates a crash of the process. Callbacks to facts stop; requests and reads fail.
  /// - Parameter count: how many of the oldest waiting changes are in the database all the same.
  /// - Returns: the database for the next process.
  @discardableResult
  package func crash(keeping count: Int = 0) -> SimulatedDatabase {
    end(.unavailable("the process has ended")) { state in
      // A change that the database refused is not in it.
      var left = state.fault == nil ? max(0, count) : 0
      let buried = state.buried
      defer { state.buried = buried }
      for entry in state.refused + state.entries where left > 0 {
        _ = commit(entry, &state)
        left -= 1
      }
    }
    return database
  }

  /// Calls the callbacks that a crash has suppressed, so that they release their objects. Used only when the process is gone for good.
  /// - Returns: whether there were any.
  @discardableResult
  package func letGo() -> Bool {
    let buried = state.withLock { state in
      defer { state.buried = [] }
      return state.buried
    }
    for entry in buried where entry.isFact { entry.complete(nil) }
    return !buried.isEmpty
  }

  package func close() async {
    if state.withLock({ $0.end }) == nil { commitAll() }
    end(.unavailable("the ledger is closed")) { _ in }
  }

  private func end(_ error: LedgerError, _ last: (inout State) -> Void) {
    let left = state.withLock { state -> [CommitEntry] in
      guard state.end == nil else { return [] }
      last(&state)
      state.end = error
      let left = Array(state.refused + state.entries)
      state.buried += left
      (state.refused, state.entries) = ([], [])
      return left
    }
    for entry in left { entry.fail(error) }
  }

  // MARK: State

  package var epoch: Epoch? { state.withLock { $0.seen.epoch } }
  package func ownership() async throws(LedgerError) -> OwnershipTable {
    try read { $0.rows.ownership }
  }

  package func ping(_ answer: @escaping @Sendable () -> Void) { answer() }

  /// Whether this process has noticed that another has taken over. The process then ends.
  package var isFencedOff: Bool { state.withLock { $0.isFencedOff } }
  package var refusal: LedgerError? { state.withLock { $0.refusal } }
  package var lastSequence: Int64 { state.withLock { $0.numbers.newest } }
  package var highestSequence: Int64 { state.withLock { max($0.numbers.last, $0.numbers.reserved) } }

  package func work() async throws(LedgerError) -> [StoredWork] {
    InjectedFault.takesNothingOver.isPresent ? [] : try read { $0.work() }
  }

  package func idempotentReply(
    _ key: IdempotencyKey, to digest: [UInt8]
  ) async throws(LedgerError) -> IdempotencyLookup? {
    guard !InjectedFault.admitsEveryRepeat.isPresent else { return nil }
    return try read { reader throws(LedgerError) in
      try reader.reply(key).map { IdempotencyLookup($0, isMatching: $0.digest == digest) }
    }
  }

  package func journal(
    _ scope: EventScope, after sequence: Int64, maximumBytes: Int
  ) async throws(LedgerError) -> JournalPage {
    let place = sequence + (InjectedFault.beginsBehindItsPlace.isPresent ? 1 : 0)
    return try read { $0.journal(scope, after: place, maximumBytes: maximumBytes) }
  }

  package func retentionRecords(in place: StorageTier) -> any RetentionRecords { self }

  package func read<T>(_ body: (RowReader) throws(LedgerError) -> T) throws(LedgerError) -> T {
    if let end = state.withLock({ $0.end }) { throw end }
    return try body(RowReader(database.rows.withLock { $0 }, unreadable))
  }
}

extension CommitEntry {
  /// The same entry without callbacks.
  fileprivate var unanswered: CommitEntry {
    switch self {
    case .request(let change, _), .fact(let change, _): .fact(change) { _ in }
    case .numbered(let entry, let writer): .numbered(entry.unanswered, by: writer)
    }
  }
}

extension LedgerChange {
  /// This change, altered by the injected fault.
  fileprivate var flawed: LedgerChange {
    let flaws: [InjectedFault] = [
      .admitsEveryRepeat, .admitsRepeatsAtOnce, .forgetsReplies, .keepsTakenNews, .keepsTakenCommands,
      .losesHandovers, .losesResumes,
    ]
    guard flaws.contains(where: \.isPresent) else { return self }
    var change = self
    if InjectedFault.admitsEveryRepeat.isPresent || InjectedFault.admitsRepeatsAtOnce.isPresent {
      change.conditions.removeAll { if case .keyAbsent = $0 { true } else { false } }
    }
    if InjectedFault.forgetsReplies.isPresent { change.idempotentReply = nil }
    if InjectedFault.keepsTakenNews.isPresent { change.consumedReports = [] }
    if InjectedFault.keepsTakenCommands.isPresent { change.takenCommands = [] }
    if InjectedFault.losesHandovers.isPresent {
      change.commands.removeAll { $0.document.contains(#""submit""#) }
    }
    if InjectedFault.losesResumes.isPresent {
      change.commands.removeAll { $0.document.contains(#""resume""#) }
    }
    return change
  }
}

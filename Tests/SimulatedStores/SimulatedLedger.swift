internal import DequeModule
package import Ledger
package import MemoryLedger
internal import Synchronization
internal import TransferCore
package import TransferModel

/// A stand-in for a durable ledger, for simulated worlds and tests. It has no thread and no timer: what is queued is committed when its
/// owner says so, change by change.
///
/// It is the ledger of one process. Its database outlives it, and may be shared with the ledgers of other processes. What was
/// acknowledged (`write` has returned, `committed` was called) is in the database. Of what was not, `crash` decides.
package final class SimulatedLedger: Ledger, RecordsInMemory {
  /// When changes are committed.
  package enum Mode: Sendable {
    /// As they come. Callbacks are called before `record` returns: whoever records must not hold a lock that they take.
    case atOnce
    /// When `commitNext` or `commitAll` is called.
    case whenTold
  }
  /// What stands against writing.
  package enum Fault: Sendable {
    case full, unavailable

    package var error: StoreError { self == .full ? .full : .unavailable("kept out") }
  }
  private struct State {
    var entries = Deque<CommitEntry>()
    /// Facts that the database refused; they go first when it takes something again.
    var refused = Deque<CommitEntry>()
    /// So many of `entries`, the first, were refused before.
    var retried = 0
    /// Why the database took nothing when it was last tried; nil: it did.
    var refusal: StoreError?
    /// Another process has taken over from this one, and it has found out.
    var isFencedOff = false
    var isDraining = false
    var seen = SeenOwnership()
    var fault: Fault?
    var numbers: EventNumbers
    /// The database's, when this process last wrote to it or looked at it.
    var version: Int
    /// Whose the sessions are.
    var tenants: [SessionID: Tenant]
    /// Why nothing is written or read any more.
    var end: StoreError?
    /// What waits for an answer that never comes.
    var buried: [CommitEntry] = []
  }

  package let database: SimulatedDatabase
  package let unreadable: UnreadableRows
  private let mode: Mode
  private let state: Mutex<State>
  private let observed: Observer?
  private let published: @Sendable (Feed) -> Void

  /// Hears a change that is committed, and its events as they are numbered. It must not use the store.
  package typealias Observer = @Sendable (StoreChange, [JournalFragment]) -> Void

  /// - Parameters:
  ///   - unreadable: hears of each row that cannot be read.
  ///   - observed: hears each change in the moment in which it is committed, whether its writer ever hears of it or not.
  ///   - published: hears of each commit, in order, once its writer has heard of it; and of those of other processes.
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
    if Flaw.publishesBeforeTheCommit.isPresent { publishTooEarly(entry.change) }
    let isAcknowledged = Flaw.acknowledgesBeforeTheCommit.isPresent && !entry.isFact
    let entry = isAcknowledged ? entry.unanswered : entry
    let (end, mustDrain) = state.withLock { state -> (StoreError?, Bool) in
      guard state.end == nil else {
        if entry.isFact { state.buried.append(entry) }
        return (state.end, false)
      }
      state.entries.append(entry)
      guard mode == .atOnce, !state.isDraining else { return (nil, false) }
      state.isDraining = true
      return (nil, true)
    }
    if let end { entry.refuse(end) }
    if isAcknowledged { entry.answer(end) }
    if mustDrain { commitAll() }
  }

  private func publishTooEarly(_ change: StoreChange) {
    let fragments = state.withLock { state in
      var sequence = state.numbers.last
      return JournalFragment.render(change.events, state.tenants, &sequence)
    }
    published(.committed(fragments))
  }

  /// Changes that wait to be committed.
  package var waitingCount: Int { state.withLock { $0.refused.count + $0.entries.count } }

  /// Commits all that waits, and what its callbacks add, as far as the database takes it.
  package func commitAll() { while commitNext() {} }

  /// Commits the oldest change that waits, and calls back. Where the database takes nothing, a request is refused, and a fact put
  /// aside until it does.
  /// - Returns: whether there was one.
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
    // The writer first: who hears of an end on a stream and then asks for the task must find it ended.
    next.answer?.answer(next.error)
    for feed in next.feed { published(feed) }
    return true
  }

  /// What follows a commit, outside of the lock.
  private struct Step {
    var answer: CommitEntry?
    var error: StoreError?
    var feed: [Feed] = []
  }

  private func step(_ entry: CommitEntry, _ state: inout State) -> Step {
    guard let fault = state.fault, needsDatabase(entry, state) else { return commit(entry, &state) }
    guard !entry.isFact else { return putAside(entry, &state) }
    if fault == .unavailable { state.refusal = fault.error }
    return Step(answer: entry, error: fault.error)
  }

  /// Whether the entry must wait while writes fail. Progress is not written, but published in order.
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
      // What is written is written behind all facts that waited.
      if state.fault == nil, state.retried == 0 { state.refusal = nil }
    }
    return database.rows.withLock { commit(entry, &$0, &state) }
  }

  /// All of it under the database's lock: what was found out of it holds when the change is written.
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
    if Flaw.losesACommit.isPresent, !change.newDeliveries.isEmpty || !change.takenNews.isEmpty {
      return Step(answer: entry, feed: gap)
    }
    var sequence = state.numbers.last
    let written: Result<[JournalFragment], StoreError> =
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
        preconditionFailure("the database refuses a fact: \(error)")
      }
      return Step(answer: entry, error: error, feed: gap)
    }
    if !Flaw.givesANumberTwice.isPresent { state.numbers.advance(to: sequence) }
    observed?(change, fragments)
    let told = Flaw.tellsAllTenants.isPresent ? fragments.flatMap { toAll($0, state) } : fragments
    return Step(answer: entry, feed: gap + (told.isEmpty ? [] : [.committed(told)]))
  }

  /// A fragment for each tenant.
  private func toAll(_ fragment: JournalFragment, _ state: borrowing State) -> [JournalFragment] {
    Set(state.tenants.values).union([.default]).map { tenant in
      JournalFragment(
        first: fragment.first, last: fragment.last, tenant: tenant, sessionID: fragment.sessionID,
        taskID: fragment.taskID, time: fragment.time, bytes: fragment.bytes,
        bytesWithProgress: fragment.bytesWithProgress)
    }
  }

  /// Gives numbers to what is written elsewhere.
  private func number(
    _ change: StoreChange, _ writer: any NumberedWriter, _ sequence: inout Int64, _ rows: inout MemoryRows,
    _ state: inout State
  ) -> Result<[JournalFragment], StoreError> {
    let last = sequence
    sequence += Int64(change.numberCount)
    if sequence > last, let reserve = state.numbers.reservation(for: sequence) {
      rows.reservedSequence = reserve
      rows.version += 1
      state.version = rows.version
      state.numbers.hold(reserved: reserve)
    }
    return writer.write(change, after: last)
  }

  private func write(
    _ change: StoreChange, _ sequence: inout Int64, _ rows: inout MemoryRows, _ state: inout State,
    _ table: OwnershipTable
  ) -> Result<[JournalFragment], StoreError> {
    guard state.seen.admits(change.owner, table) else { return .failure(.notOwner) }
    if let obstacle = rows.obstacle(to: change) { return .failure(obstacle) }
    if let ownership = change.ownership, !state.seen.write(ownership, &rows) { return .failure(.notOwner) }
    let fragments = render(change, &sequence, rows, &state)
    if let session = change.deletedSession { state.tenants[session] = nil }
    rows.write(change, fragments)
    state.version = rows.version
    return .success(fragments)
  }

  private func render(
    _ change: StoreChange, _ sequence: inout Int64, _ rows: borrowing MemoryRows, _ state: inout State
  ) -> [JournalFragment] {
    for session in change.sessions { state.tenants[session.id] = session.tenant }
    for event in change.events where state.tenants[event.sessionID] == nil {
      // The session may have been another process's.
      state.tenants[event.sessionID] = rows.sessions[event.sessionID]?.session.tenant
    }
    let tenants =
      Flaw.tellsAnotherTenant.isPresent ? state.tenants.mapValues { _ in .default } : state.tenants
    return JournalFragment.render(change.events, tenants, &sequence)
  }

  // MARK: What others have written

  package func follow() { append(.fact(StoreChange()) { _ in }) }

  /// Learns of the numbers that others have given out, and of the events.
  private func catchUp(_ rows: borrowing MemoryRows, _ state: inout State) -> [Feed] {
    guard rows.version != state.version else { return [] }
    state.version = rows.version
    let (known, newest) = (state.numbers.newest, rows.lastSequence)
    state.numbers.catchUp(journal: newest, reserved: rows.reservedSequence)
    guard newest > known else { return [] }
    let new = Array(rows.journal.all(after: known).prefix(Feed.gapLimit + 1))
    guard new.count <= Feed.gapLimit else { return [.leap(after: known)] }
    let fragments = new.map(\.row).filter { !rows.isDamaged($0) }
    return [.committed(Flaw.jumpsToTheNewest.isPresent ? fragments.suffix(1) : fragments)]
  }

  // MARK: Faults

  /// From here on the database takes nothing, or everything again: then what was put aside waits to be committed, first of all.
  package func set(_ fault: Fault?) {
    state.withLock { state in
      state.fault = fault
      guard fault == nil else { return }
      state.retried = state.refused.count
      if !Flaw.forgetsWhatWasRefused.isPresent { state.entries.prepend(contentsOf: state.refused) }
      state.refused = []
    }
    if fault == nil, mode == .atOnce { commitAll() }
  }

  /// The process ends, in the middle of whatever it does. Its store never calls back again: facts wait for ever, and requests and
  /// reads fail.
  /// - Parameter count: so many of the changes that wait have reached the database all the same, the oldest.
  /// - Returns: the database, as the next process finds it.
  @discardableResult
  package func crash(keeping count: Int = 0) -> SimulatedDatabase {
    end(.unavailable("the process has ended")) { state in
      // What it has refused it has not.
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

  /// Calls back whatever waits for an answer that never comes. Only whoever is gone for good may hear of that: he lets go of what he has.
  /// - Returns: whether anything waited.
  @discardableResult
  package func letGo() -> Bool {
    let buried = state.withLock { state in
      defer { state.buried = [] }
      return state.buried
    }
    for entry in buried where entry.isFact { entry.answer(nil) }
    return !buried.isEmpty
  }

  package func close() async {
    if state.withLock({ $0.end }) == nil { commitAll() }
    end(.unavailable("the store is closed")) { _ in }
  }

  private func end(_ error: StoreError, _ last: (inout State) -> Void) {
    let left = state.withLock { state -> [CommitEntry] in
      guard state.end == nil else { return [] }
      last(&state)
      state.end = error
      let left = Array(state.refused + state.entries)
      state.buried += left
      (state.refused, state.entries) = ([], [])
      return left
    }
    for entry in left { entry.refuse(error) }
  }

  // MARK: What it is

  package var epoch: Epoch? { state.withLock { $0.seen.epoch } }
  package func ownership() async throws(StoreError) -> OwnershipTable {
    try read { $0.rows.ownership }
  }

  /// It has no thread that could be busy: the answer comes at once.
  package func ping(_ answer: @escaping @Sendable () -> Void) { answer() }

  /// Another process has taken over from this one, and it has found out: its process ends.
  package var isFencedOff: Bool { state.withLock { $0.isFencedOff } }
  package var refusal: StoreError? { state.withLock { $0.refusal } }
  package var lastSequence: Int64 { state.withLock { $0.numbers.newest } }
  package var highestSequence: Int64 { state.withLock { max($0.numbers.last, $0.numbers.reserved) } }

  package func work() async throws(StoreError) -> [StoredWork] {
    Flaw.takesNothingOver.isPresent ? [] : try read { $0.work() }
  }

  package func idempotentReply(
    _ key: IdempotencyKey, to digest: [UInt8]
  ) async throws(StoreError) -> KeptReply? {
    guard !Flaw.admitsEveryRepeat.isPresent else { return nil }
    return try read { reader throws(StoreError) in
      try reader.reply(key).map { KeptReply($0, isMatching: $0.digest == digest) }
    }
  }

  package func journal(
    _ scope: EventScope, after sequence: Int64, maximumBytes: Int
  ) async throws(StoreError) -> JournalPage {
    let place = sequence + (Flaw.beginsBehindItsPlace.isPresent ? 1 : 0)
    return try read { $0.journal(scope, after: place, maximumBytes: maximumBytes) }
  }

  package func retained(in place: RetainedPlace) -> any RetentionRecords { self }

  package func read<T>(_ body: (RowReader) throws(StoreError) -> T) throws(StoreError) -> T {
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

extension StoreChange {
  /// This change, altered by the present flaw.
  fileprivate var flawed: StoreChange {
    let flaws: [Flaw] = [
      .admitsEveryRepeat, .admitsRepeatsAtOnce, .forgetsReplies, .keepsTakenNews, .keepsTakenCommands,
      .losesHandovers, .losesResumes,
    ]
    guard flaws.contains(where: \.isPresent) else { return self }
    var change = self
    if Flaw.admitsEveryRepeat.isPresent || Flaw.admitsRepeatsAtOnce.isPresent {
      change.conditions.removeAll { if case .keyAbsent = $0 { true } else { false } }
    }
    if Flaw.forgetsReplies.isPresent { change.idempotentReply = nil }
    if Flaw.keepsTakenNews.isPresent { change.takenNews = [] }
    if Flaw.keepsTakenCommands.isPresent { change.takenCommands = [] }
    if Flaw.losesHandovers.isPresent { change.commands.removeAll { $0.document.contains(#""submit""#) } }
    if Flaw.losesResumes.isPresent { change.commands.removeAll { $0.document.contains(#""resume""#) } }
    return change
  }
}

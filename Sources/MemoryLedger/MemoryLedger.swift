internal import DequeModule
package import Ledger
internal import Synchronization
internal import TransferCore
internal import TransferModel

/// A store that keeps its rows in memory, for a world that is simulated, and for tests. It has no thread and no timer: what is
/// queued is committed when its owner says so, change by change.
///
/// It is the store of one process. Its database outlives it, and may be shared with the stores of other processes. What was
/// acknowledged (`write` has returned, `committed` was called) is in the database. Of what was not, `crash` decides. Rows of
/// ephemeral sessions are the process's own, and go with it.
package final class MemoryLedger: Ledger {
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
    var own = MemoryRows()
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

  package let database: MemoryDatabase
  package let unreadable: UnreadableRows
  let ephemeral = EphemeralSessions()
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
    on database: MemoryDatabase = MemoryDatabase(), _ mode: Mode = .whenTold,
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
      return Mutex(State(numbers: numbers, version: rows.version, tenants: rows.tenants))
    }
  }

  // MARK: Writing

  package func commit(_ change: StoreChange, done: @escaping @Sendable (StoreError?) -> Void) {
    append(.request(change, done: done))
  }

  package func record(_ change: StoreChange, settled: @escaping @Sendable (Bool) -> Void) {
    append(.fact(change, settled: settled))
  }

  /// As it is, unless somebody wants a fault.
  private func flawed(_ entry: CommitEntry, _ state: borrowing State) -> CommitEntry {
    if Flaw.publishesBeforeTheCommit.isPresent {
      var sequence = state.numbers.last
      published(.committed(JournalFragment.render(entry.change.events, state.tenants, &sequence)))
    }
    guard Flaw.acknowledgesBeforeTheCommit.isPresent, case .request(let change, _) = entry else {
      return entry
    }
    return .fact(change) { _ in }
  }

  private func append(_ entry: CommitEntry) {
    let (end, mustDrain) = state.withLock { state -> (StoreError?, Bool) in
      guard state.end == nil else {
        if case .fact = entry { state.buried.append(entry) }
        return (state.end, false)
      }
      state.entries.append(flawed(entry, state))
      guard mode == .atOnce, !state.isDraining else { return (nil, false) }
      state.isDraining = true
      return (nil, true)
    }
    if case .request(_, let done) = entry {
      if let end {
        done(end)
      } else if Flaw.acknowledgesBeforeTheCommit.isPresent {
        done(nil)
      }
    }
    if mustDrain { commitAll() }
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
    switch next.answer {
    case .request(_, let done)?: done(next.error)
    case .fact(_, let settled)?:
      if case .fencedOff = next.error { break }
      settled(next.error == nil)
    case nil: break
    }
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
    guard let fault = state.fault else { return commit(entry, &state) }
    if entry.change.isProgressOnly {
      guard state.refused.isEmpty else { return putAside(entry, &state) }
      return commit(entry, &state)
    }
    let change = entry.change.divided(by: ephemeral)
    switch entry {
    case .request:
      // What is for memory alone does not wait for a disk.
      if change.memory != nil, change.disk.isEmpty { return commit(entry, &state) }
      if fault == .unavailable { state.refusal = fault.error }
      return Step(answer: entry, error: fault.error)
    case .fact(_, let settled):
      guard let memory = change.memory else { return putAside(entry, &state) }
      guard !change.disk.isEmpty else { return commit(entry, &state) }
      var step = commit(.fact(memory) { _ in }, &state)
      step.answer = nil
      _ = putAside(.fact(change.disk, settled: settled), &state)
      return step
    }
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
      guard case .fact = entry else { return Step(answer: entry, error: .fencedOff) }
      state.buried.append(entry)
      return Step()
    }
    var sequence = state.numbers.last
    let fragments: [JournalFragment]
    if Flaw.losesACommit.isPresent, !entry.change.newDeliveries.isEmpty || !entry.change.takenNews.isEmpty {
      return Step(answer: entry, feed: gap)
    }
    if entry.change.isProgressOnly {
      fragments = JournalFragment.render(entry.change.events, state.tenants, &sequence)
    } else {
      let change = entry.change.divided(by: ephemeral)
      if !state.seen.admits(change.disk.owner, table) {
        return Step(answer: entry, error: .notOwner, feed: gap)
      }
      let obstacle =
        rows.obstacle(to: change.disk) ?? change.memory.flatMap { state.own.obstacle(to: $0) }
      if let obstacle {
        guard case .request = entry else { preconditionFailure("the database refuses a fact: \(obstacle)") }
        return Step(answer: entry, error: obstacle, feed: gap)
      }
      if let ownership = change.disk.ownership, !state.seen.write(ownership, &rows) {
        return Step(answer: entry, error: .notOwner, feed: gap)
      }
      fragments = write(change, &sequence, &rows, &state)
    }
    if !Flaw.givesANumberTwice.isPresent { state.numbers.advance(to: sequence) }
    observed?(entry.change, fragments)
    return Step(answer: entry, feed: gap + (fragments.isEmpty ? [] : [.committed(fragments)]))
  }

  private func write(
    _ change: StoreChange.Division, _ sequence: inout Int64, _ rows: inout MemoryRows, _ state: inout State
  ) -> [JournalFragment] {
    let durable = render(change.disk, &sequence, rows, &state)
    let own = change.memory.map { render($0, &sequence, rows, &state) } ?? []
    for session in [change.disk.deletedSession, change.memory?.deletedSession] {
      if let session { state.tenants[session] = nil }
    }
    let isNumbered = own.contains { !$0.isProgressOnly }
    let reserve = isNumbered ? state.numbers.reservation(for: sequence) : nil
    rows.write(change.disk, durable)
    if let reserve {
      rows.reservedSequence = reserve
      rows.version += 1
      state.numbers.hold(reserved: reserve)
    }
    state.version = rows.version
    if let memory = change.memory { state.own.write(memory, own) }
    return durable + own
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
    let firsts = rows.journal.keys
    let new = firsts[firsts.firstIndex(above: known)...]
    guard new.count <= Feed.gapLimit else { return [.leap(after: known)] }
    var fragments: [JournalFragment] = []
    for first in new {
      if let fragment = rows.journal[first], !rows.isDamaged(fragment) { fragments.append(fragment) }
    }
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
  package func crash(keeping count: Int = 0) -> MemoryDatabase {
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
    for case .fact(_, let settled) in buried { settled(true) }
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
      (state.refused, state.entries, state.own) = ([], [], MemoryRows())
      return left
    }
    for case .request(_, let done) in left { done(error) }
  }

  // MARK: What it is

  package var epoch: Epoch? { state.withLock { $0.seen.epoch } }
  package func ownership() async throws(StoreError) -> OwnershipTable {
    try readDisk { $0.rows.ownership }
  }

  /// It has no thread that could be busy: the answer comes at once.
  package func ping(_ answer: @escaping @Sendable () -> Void) { answer() }

  /// Another process has taken over from this one, and it has found out: its process ends.
  package var isFencedOff: Bool { state.withLock { $0.isFencedOff } }
  package var refusal: StoreError? { state.withLock { $0.refusal } }
  package var lastSequence: Int64 { state.withLock { $0.numbers.newest } }
  package var highestSequence: Int64 { state.withLock { max($0.numbers.last, $0.numbers.reserved) } }

  /// Reads what the database has.
  func readDisk<T>(
    _ body: (RowReader) throws(StoreError) -> T
  ) throws(StoreError) -> T {
    if let end = state.withLock({ $0.end }) { throw end }
    return try body(RowReader(rows: database.rows.withLock { $0 }, unreadable: unreadable))
  }

  /// Reads what the process has for itself.
  func readOwn<T>(
    _ body: (RowReader) throws(StoreError) -> T
  ) throws(StoreError) -> T {
    let (end, rows) = state.withLock { ($0.end, $0.own) }
    if let end { throw end }
    return try body(RowReader(rows: rows, unreadable: unreadable))
  }
}

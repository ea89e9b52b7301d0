internal import DequeModule
internal import EventLoop
internal import GRDB
internal import GRDBSQLite
internal import Glibc
internal import Ledger
internal import Synchronization
internal import TransferModel

/// The queue of changes, and the thread that writes them. All waiting changes become one transaction.
///
/// If the transaction fails, each entry is tried alone. A failed request gets the error. A failed fact returns to the head of the queue and
/// is retried; later facts wait, to keep their order. Numbered entries wait only for numbers.
final class CommitQueue: @unchecked Sendable {
  // Unchecked: the writer and `hasRefused` are touched on the writer thread only.
  typealias Entry = CommitEntry
  private struct State {
    var entries = Deque<Entry>()
    /// The right to drain `entries`, which one job has at a time.
    var drain = SerialDrain<Void>()
    /// Callbacks that prove that the thread runs.
    var pings: [@Sendable () -> Void] = []
    /// Whether to look for commits of other processes.
    var mustFollow = false
    /// The error of the last write; `nil` if it succeeded.
    var refusal: LedgerError?
    /// The error of every later write; `nil` while the queue is open.
    var end: LedgerError?
    /// The time at which retries end; `nil` while the queue is open.
    var givesUp: ContinuousClock.Instant?
  }

  private static let changesPerCommit = 1024
  private static let retryDelayMicroseconds: UInt32 = 200_000
  /// How long facts are retried after `close` was called. Facts that the disk refuses until then are lost, as in a crash.
  static let lastPatience = Duration.seconds(5)

  private let writer: LedgerWriter
  private let published: @Sendable (Feed) -> Void
  private let wrote: @Sendable () -> Void
  private let fencedOff: @Sendable () -> Void
  private let state = Mutex(State())
  private let lastPatience: Duration
  private let thread = ThreadPool(name: "ferry-store", threads: 1)
  private let lastWritten: Atomic<Int64>
  /// This process's part in the ledger.
  private let place = Mutex<(epoch: Epoch?, part: Epoch?, highest: Int64)>((nil, nil, 0))
  /// Whether the disk has refused facts and nothing was written since.
  private var hasRefused = false
  /// - Parameters:
  ///   - wrote: called after each commit with durable events, so that other processes can be notified.
  ///   - published: receives each commit.
  ///   - fencedOff: called once if another process has taken over from this one.
  init(
    _ writer: LedgerWriter, lastPatience: Duration = CommitQueue.lastPatience,
    fencedOff: @escaping @Sendable () -> Void = {},
    wrote: @escaping @Sendable () -> Void = {}, published: @escaping @Sendable (Feed) -> Void
  ) {
    self.fencedOff = fencedOff
    self.lastPatience = lastPatience
    self.writer = writer
    (self.wrote, self.published) = (wrote, published)
    lastWritten = Atomic(writer.numbers.newest)
    notePlace()
  }

  /// The number of the newest event of any process, as far as this process knows.
  var lastSequence: Int64 { lastWritten.load(ordering: .relaxed) }
  var epoch: Epoch? { place.withLock { $0.epoch } }
  var highestSequence: Int64 { place.withLock { max($0.highest, lastSequence) } }
  /// The epoch under which this process owns some of the shards; `nil` if it has not joined or owns all shards.
  var ownerFilter: Epoch? { place.withLock { $0.part } }
  var refusal: LedgerError? { state.withLock { $0.refusal } }

  func append(_ entry: Entry) {
    let (end, mustSchedule) = state.withLock { state -> (LedgerError?, Bool) in
      guard state.end == nil else { return (state.end, false) }
      state.entries.append(entry)
      return (nil, state.drain.beginDraining())
    }
    // A fact of a closed queue is not written. The next process finds it out from the same source as this one.
    if let end { entry.fail(end) }
    if mustSchedule { thread.submit { self.drain() } }
  }

  /// Calls `answer` on the writer thread, even while the queue is never empty or the disk refuses writes.
  func ping(_ answer: @escaping @Sendable () -> Void) { wake { $0.pings.append(answer) } }

  /// Looks for commits of other processes.
  func follow() { wake { $0.mustFollow = true } }

  /// Changes the state and wakes the thread, unless the queue is closed.
  private func wake(_ leave: (inout State) -> Void) {
    let mustSchedule = state.withLock { state in
      leave(&state)
      return state.end == nil && state.drain.beginDraining()
    }
    if mustSchedule { thread.submit { self.drain() } }
  }

  /// Writes all pending entries, then calls `done`. Later entries are not written.
  func close(_ done: @escaping @Sendable () -> Void) {
    // The thread may be busy with entries that the disk refuses.
    state.withLock { $0.givesUp = .now + lastPatience }
    thread.submit {
      self.state.withLock { $0.end = $0.end ?? .unavailable("the ledger is closed") }
      self.drain()
      self.writer.finalize()
      self.thread.stop()
      done()
    }
  }

  // MARK: On the writer thread

  private func drain() {
    while true {
      let (batch, pings, mustFollow) = state.withLock { state in
        let batch = Array(state.entries.prefix(Self.changesPerCommit))
        state.entries.removeFirst(batch.count)
        defer { (state.pings, state.mustFollow) = ([], false) }
        if batch.isEmpty, !state.mustFollow { _ = state.drain.endDraining() }
        return (batch, state.pings, state.mustFollow)
      }
      for answer in pings { answer() }
      if mustFollow { lookAtOthers() }
      if batch.isEmpty {
        if mustFollow { continue }
        return
      }
      if let fault = commit(batch) { commitOneByOne(batch, fault) } else { recover() }
    }
  }

  private func lookAtOthers() {
    // A read error is ignored here: the next commit reports it.
    guard let feed = try? writer.follow() else { return }
    guard !writer.isFencedOff else { return giveUp([]) }
    lastWritten.store(writer.numbers.newest, ordering: .relaxed)
    notePlace()
    for feed in feed { published(feed) }
  }

  private func notePlace() {
    let (epoch, part, highest) = (
      writer.epoch, writer.part, max(writer.numbers.reserved, writer.numbers.last)
    )
    place.withLock { $0 = (epoch, part, highest) }
  }

  /// Ends the state of refusal after a successful write. All waiting facts precede that write.
  private func recover() {
    guard hasRefused else { return }
    hasRefused = false
    state.withLock { $0.refusal = nil }
  }

  /// Commits the batch, except entries whose conditions fail, or nothing. Then notifies the writers and the readers.
  private func commit(_ batch: [Entry]) -> SQLiteFault? {
    let outcome: LedgerWriter.Outcome
    do {
      outcome = try writer.write(batch)
    } catch let fault as SQLiteFault {
      return fault
    } catch let error as DatabaseError {
      return SQLiteFault(error)
    } catch is LedgerWriter.FencedOff {
      giveUp(batch)
      return nil
    } catch {
      preconditionFailure("unexpected error from the database: \(error)")
    }
    let elsewhere = outcome.numbered.map { $0.writer.write($0.change, after: $0.last) }
    lastWritten.store(writer.numbers.newest, ordering: .relaxed)
    notePlace()
    // The writers first: a client that sees a task's end on a stream and then requests the task must find it ended.
    var rest = elsewhere[...]
    for (index, entry) in batch.enumerated() {
      let error = entry.isNumbered ? rest.popFirst()?.failure : outcome.refused[index]
      precondition(
        error == nil || !entry.isNumbered || !entry.isFact,
        "another ledger refused a fact: \(String(describing: error))")
      entry.complete(error)
    }
    if let gap = outcome.gap { published(gap) }
    let fragments = outcome.fragments(with: elsewhere)
    if !fragments.isEmpty { published(.committed(fragments)) }
    if outcome.hasDurableEvents { wrote() }
    return nil
  }

  /// Fails all requests, because another process has taken over. That process finds out the facts by itself.
  private func giveUp(_ batch: [Entry]) {
    hasRefused = false
    let left = state.withLock { state in
      defer { (state.entries, state.end, state.refusal) = ([], .fencedOff, .fencedOff) }
      return state.end == nil ? Array(state.entries) : nil
    }
    for entry in batch + (left ?? []) { entry.fail(.fencedOff) }
    // A process that has left was not fenced off by another.
    if left != nil, !writer.hasLeft { fencedOff() }
  }

  private func commitOneByOne(_ batch: [Entry], _ fault: SQLiteFault) {
    // The lock is held by another process, so each entry alone would wait as long.
    guard !fault.isBusy else { return wait(batch[...], fault) }
    for (index, entry) in batch.enumerated() {
      guard let fault = batch.count == 1 ? fault : commit([entry]) else { continue }
      guard !fault.isBusy else { return wait(batch[index...], fault) }
      guard !entry.fail(LedgerError(fault)) else { continue }
      guard fault.isPassing else { preconditionFailure("the database refused a fact: \(fault.message)") }
      return wait(batch[index...], fault)
    }
    recover()
  }

  private func wait(_ entries: ArraySlice<Entry>, _ fault: SQLiteFault) {
    keep(entries, fault)
    let dropped = state.withLock { state -> Deque<Entry>? in
      guard let givesUp = state.givesUp, .now >= givesUp else { return nil }
      defer { state.entries = [] }
      return state.entries
    }
    guard let dropped else {
      if hasRefused { usleep(Self.retryDelayMicroseconds) }
      return
    }
    for entry in dropped { entry.fail(LedgerError(fault)) }
  }

  /// Puts facts back at the head of the queue and fails requests. Numbered entries are written at once while reserved numbers last.
  private func keep(_ entries: ArraySlice<Entry>, _ fault: SQLiteFault) {
    let others = state.withLock { state in
      defer { state.entries.removeAll(where: \.isNumbered) }
      return state.entries.filter(\.isNumbered)
    }
    var waiting: [Entry] = []
    var hasNumbers = true
    for entry in Array(entries) + others {
      if entry.isNumbered, hasNumbers {
        hasNumbers = commit([entry]) == nil
        if hasNumbers { continue }
      }
      if !entry.fail(LedgerError(fault)) { waiting.append(entry) }
    }
    // Without a waiting fact, no retry would notice that the other process has released its lock.
    if waiting.isEmpty, fault.isBusy, state.withLock({ $0.end == nil }) {
      waiting = [.fact(LedgerChange()) { _ in }]
    }
    let kept = waiting
    hasRefused = !kept.isEmpty
    state.withLock { state in
      state.entries.prepend(contentsOf: kept)
      state.refusal = kept.isEmpty ? nil : LedgerError(fault)
    }
  }
}

extension LedgerError {
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

extension Result {
  fileprivate var failure: Failure? { if case .failure(let error) = self { error } else { nil } }
}

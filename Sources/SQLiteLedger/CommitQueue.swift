internal import DequeModule
internal import EventLoop
internal import GRDB
internal import GRDBSQLite
internal import Glibc
internal import Ledger
internal import Synchronization
internal import TransferModel

/// What waits to be written, and the thread that writes it: everything that waits becomes one transaction.
///
/// If that fails, each entry is tried alone. A failed request gets the error. A failed fact stays at the head of the queue and is retried;
/// later facts wait, to keep their order. Numbered entries wait only for numbers.
final class CommitQueue: @unchecked Sendable {
  // Unchecked: the writer and `hasRefused` are touched on the store's thread only.
  typealias Entry = CommitEntry
  private struct State {
    var entries = Deque<Entry>()
    /// Only says who drains the entries.
    var drain = SerialDrain<Void>()
    /// Who asks whether the thread answers.
    var pings: [@Sendable () -> Void] = []
    /// Other processes may have committed something.
    var mustFollow = false
    /// Why the disk took nothing when it was last tried; nil: it did.
    var refusal: StoreError?
    /// Why nothing more is written; nil: it is.
    var end: StoreError?
    /// When nothing is tried any more; nil: the store is open.
    var givesUp: ContinuousClock.Instant?
  }

  private static let changesPerCommit = 1024
  private static let retryDelayMicroseconds: UInt32 = 200_000
  /// For how long facts are tried once the store is to be closed. Those that the disk takes not even then are lost, as by a crash.
  static let lastPatience = Duration.seconds(5)

  private let writer: LedgerWriter
  private let published: @Sendable (Feed) -> Void
  private let wrote: @Sendable () -> Void
  private let fencedOff: @Sendable () -> Void
  private let state = Mutex(State())
  private let lastPatience: Duration
  private let thread = WorkerPool(name: "ferry-store", threads: 1)
  private let lastWritten: Atomic<Int64>
  /// Where this process takes part in the ledger.
  private let place = Mutex<(epoch: Epoch?, part: Epoch?, highest: Int64)>((nil, nil, 0))
  /// The disk has refused facts, and nothing was written since.
  private var hasRefused = false
  /// - Parameters:
  ///   - wrote: is called behind each commit that other processes have to hear of: with events on the disk.
  ///   - published: hears of each commit.
  ///   - fencedOff: is called once where another process has taken over from this one.
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

  /// The number of the newest event, by this process or by another, as far as is known.
  var lastSequence: Int64 { lastWritten.load(ordering: .relaxed) }
  var epoch: Epoch? { place.withLock { $0.epoch } }
  var highestSequence: Int64 { place.withLock { max($0.highest, lastSequence) } }
  /// Under which this process owns some of the shards; nil: it takes no part, or all are its own.
  var part: Epoch? { place.withLock { $0.part } }
  var refusal: StoreError? { state.withLock { $0.refusal } }

  func append(_ entry: Entry) {
    let (end, mustSchedule) = state.withLock { state -> (StoreError?, Bool) in
      guard state.end == nil else { return (state.end, false) }
      state.entries.append(entry)
      return (nil, state.drain.claim())
    }
    // What comes after the end is found by the next process where it was found by this one.
    if let end { entry.refuse(end) }
    if mustSchedule { thread.submit { self.drain() } }
  }

  /// Calls `answer` on the store's thread: also while there is always more to write, or the disk takes nothing.
  func ping(_ answer: @escaping @Sendable () -> Void) { wake { $0.pings.append(answer) } }

  /// Looks for what other processes have committed.
  func follow() { wake { $0.mustFollow = true } }

  /// Leaves the thread something to do, unless it is at its end.
  private func wake(_ leave: (inout State) -> Void) {
    let mustSchedule = state.withLock { state in
      leave(&state)
      return state.end == nil && state.drain.claim()
    }
    if mustSchedule { thread.submit { self.drain() } }
  }

  /// Writes what waits, then calls `done`. What comes later is not written.
  func close(_ done: @escaping @Sendable () -> Void) {
    // The thread may be busy with what the disk does not take.
    state.withLock { $0.givesUp = .now + lastPatience }
    thread.submit {
      self.state.withLock { $0.end = $0.end ?? .unavailable("the store is closed") }
      self.drain()
      self.writer.finalize()
      self.thread.stop()
      done()
    }
  }

  // MARK: On the store's thread

  private func drain() {
    while true {
      let (batch, pings, mustFollow) = state.withLock { state in
        let batch = Array(state.entries.prefix(Self.changesPerCommit))
        state.entries.removeFirst(batch.count)
        defer { (state.pings, state.mustFollow) = ([], false) }
        if batch.isEmpty, !state.mustFollow { _ = state.drain.end() }
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
    // A disk that cannot be read says nothing; the next commit finds it out as well.
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

  /// What is written is written behind all facts that waited.
  private func recover() {
    guard hasRefused else { return }
    hasRefused = false
    state.withLock { $0.refusal = nil }
  }

  /// Commits all of the batch, but for what depends on something that does not hold, or nothing; then tells the readers and the writers.
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
    // The writers first: who hears of an end on a stream and then asks for the task must find it ended.
    var rest = elsewhere[...]
    for (index, entry) in batch.enumerated() {
      let error = entry.isNumbered ? rest.popFirst()?.failure : outcome.refused[index]
      precondition(
        error == nil || !entry.isNumbered || !entry.isFact,
        "another ledger refuses a fact: \(String(describing: error))")
      entry.answer(error)
    }
    if let gap = outcome.gap { published(gap) }
    let fragments = outcome.fragments(with: elsewhere)
    if !fragments.isEmpty { published(.committed(fragments)) }
    if outcome.hasDurableEvents { wrote() }
    return nil
  }

  /// Another process decides now. Who asked for something hears so; what has happened that process finds out by itself.
  private func giveUp(_ batch: [Entry]) {
    hasRefused = false
    let left = state.withLock { state in
      defer { (state.entries, state.end, state.refusal) = ([], .fencedOff, .fencedOff) }
      return state.end == nil ? Array(state.entries) : nil
    }
    for entry in batch + (left ?? []) { entry.refuse(.fencedOff) }
    // One that has left has been taken over from by nobody.
    if left != nil, !writer.hasLeft { fencedOff() }
  }

  private func commitOneByOne(_ batch: [Entry], _ fault: SQLiteFault) {
    // None of them is at fault, and each alone would wait as long.
    guard !fault.isBusy else { return wait(batch[...], fault) }
    for (index, entry) in batch.enumerated() {
      guard let fault = batch.count == 1 ? fault : commit([entry]) else { continue }
      guard !fault.isBusy else { return wait(batch[index...], fault) }
      guard !entry.refuse(StoreError(fault)) else { continue }
      guard fault.isPassing else { preconditionFailure("the database refuses a fact: \(fault.message)") }
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
    for entry in dropped { entry.refuse(StoreError(fault)) }
  }

  /// Puts facts back at the head of the queue and fails requests. Numbered entries are written at once, as long as numbers are reserved.
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
      if !entry.refuse(StoreError(fault)) { waiting.append(entry) }
    }
    // Nobody but the one who tries again finds out that the others have come to their end.
    if waiting.isEmpty, fault.isBusy, state.withLock({ $0.end == nil }) {
      waiting = [.fact(StoreChange()) { _ in }]
    }
    let kept = waiting
    hasRefused = !kept.isEmpty
    state.withLock { state in
      state.entries.prepend(contentsOf: kept)
      state.refusal = kept.isEmpty ? nil : StoreError(fault)
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

extension Result {
  fileprivate var failure: Failure? { if case .failure(let error) = self { error } else { nil } }
}

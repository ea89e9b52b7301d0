package import TransferModel

/// What Ferry remembers. Committed means on disk: it survives the process and the power. What is of an ephemeral session
/// is in memory alone.
package protocol Ledger: TaskRecords, KeptRecords, JournalRecords, ProcessQueues, RetentionRecords,
  OutboxRecords
{
  /// Writes a change that a client asked for, whole or not at all.
  /// - Parameter done: called once it is committed, in the order of the calls; or with why it is not: then it leaves nothing.
  func commit(_ change: StoreChange, done: @escaping @Sendable (StoreError?) -> Void)

  /// Writes what has happened anyway. It is tried until it holds; `settled` is called then, in the order of the calls. It is called with
  /// false where the session is another process's by now: that one finds out by itself, and nothing is written.
  func record(_ change: StoreChange, settled: @escaping @Sendable (_ isWritten: Bool) -> Void)

  /// Looks for what other processes have committed, and tells streams of it. It returns at once.
  func follow()

  /// The one under which this process takes part; nil: it does not.
  var epoch: Epoch? { get }

  /// Who owns what, as it was committed last.
  func ownership() async throws(StoreError) -> OwnershipTable

  /// The rows that could not be read since the start. They are left as they are, and out of all lists; who asks for one by its
  /// name gets the error.
  var unreadable: UnreadableRows { get }

  /// Why the disk refuses facts, which wait for it; nil where none wait.
  var refusal: StoreError? { get }

  /// The sequence number of the newest event.
  var lastSequence: Int64 { get }
  /// No event has a greater number, of whatever process, as far as this one has looked.
  var highestSequence: Int64 { get }

  /// Calls `answer` between two commits: it comes if the ledger is alive, even while the disk refuses all writes.
  func ping(_ answer: @escaping @Sendable () -> Void)

  /// Writes what is pending and closes. Nothing may be called afterwards.
  func close() async
}

extension Ledger {
  /// Writes a change that a client asked for; returns once it is committed, or fails and leaves nothing.
  package func write(_ change: StoreChange) async throws(StoreError) {
    let error = await withCheckedContinuation { (continuation: CheckedContinuation<StoreError?, Never>) in
      commit(change) { continuation.resume(returning: $0) }
    }
    if let error { throw error }
  }

  /// Writes what has happened anyway.
  /// - Parameter committed: called once it holds; never where the session is another process's.
  package func record(_ change: StoreChange, committed: @escaping @Sendable () -> Void = {}) {
    record(change) { (isWritten: Bool) in if isWritten { committed() } }
  }
}

/// A message that was not handed over yet, without its bytes.
package struct PendingDelivery: Sendable, Equatable {
  package let id: DeliveryID
  package let sessionID: SessionID
  package let type: EventType
  package init(id: DeliveryID, sessionID: SessionID, type: EventType) {
    self.id = id
    self.sessionID = sessionID
    self.type = type
  }
}

/// A piece of the journal.
package struct JournalPage: Sendable {
  package var fragments: [JournalFragment]
  /// All that the scope has up to here is in the page or before it.
  package var coveredSequence: Int64
  /// False where the page was cut off.
  package var isLast: Bool
  /// What the journal has no more: of a tenant's events where those were asked for, else of all.
  package var pruned: PrunedEvents
  /// The first sequence number that it has, or will have; of the same.
  package var oldest: Int64

  package init(
    fragments: [JournalFragment], coveredSequence: Int64, isLast: Bool, pruned: PrunedEvents, oldest: Int64
  ) {
    self.fragments = fragments
    self.coveredSequence = coveredSequence
    self.isLast = isLast
    self.pruned = pruned
    self.oldest = oldest
  }

  /// One page of two places that number their events from one counter.
  /// - Parameter known: what is numbered up to here is in both; what comes meanwhile may be in one, and not yet in the other.
  package static func joined(_ disk: JournalPage, _ memory: JournalPage, known: Int64) -> JournalPage {
    let pages = [disk, memory]
    let covered = min(known, pages.filter { !$0.isLast }.map(\.coveredSequence).min() ?? known)
    let fragments = pages.flatMap(\.fragments).filter { $0.last <= covered }
    return JournalPage(
      fragments: fragments.sorted { $0.first < $1.first }, coveredSequence: covered,
      isLast: pages.allSatisfy(\.isLast), pruned: disk.pruned.merged(with: memory.pruned),
      oldest: min(disk.oldest, memory.oldest, covered + 1))
  }
}

extension [AgedEvents] {
  /// The first rows of the journal, from those of the places where it is.
  /// - Parameters:
  ///   - pages: of `limit` rows at most. Where one was cut off, another may have more than what comes next.
  ///   - known: what is numbered up to here is in all of them.
  package static func joined(_ pages: [[AgedEvents]], limit: Int, known: Int64) -> [AgedEvents] {
    let covered = Swift.min(
      known, pages.filter { $0.count == limit }.compactMap { $0.last?.last }.min() ?? known)
    return pages.flatMap { $0 }.filter { $0.last <= covered }.sorted { $0.last < $1.last }
  }
}

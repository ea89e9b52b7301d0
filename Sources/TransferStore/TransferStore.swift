package import HTTPCookies
package import TransferModel

/// What Ferry remembers. Committed means on disk: it survives the process and the power. What is of an ephemeral session
/// is in memory alone.
package protocol TransferStore: Sendable {
  /// Writes a change that a client asked for; returns once it is committed, or fails and leaves nothing.
  func write(_ change: StoreChange) async throws(StoreError)

  /// Writes what has happened anyway. It is tried until it holds; `committed` is called then, in the order of
  /// the calls.
  func record(_ change: StoreChange, committed: @escaping @Sendable () -> Void)

  /// The rows that could not be read since the start. They are left as they are, and out of all lists; who asks for one by its
  /// name gets the error.
  var unreadable: UnreadableRows { get }

  /// False while facts wait for a disk that refuses them.
  var isHealthy: Bool { get }

  /// The sequence number of the newest event.
  var lastSequence: Int64 { get }

  func sessions() async throws(StoreError) -> [(session: TransferSession, lastIdentifier: Int)]
  func task(_ id: TaskID) async throws(StoreError) -> TransferTask?
  func tasks(_ query: TaskQuery) async throws(StoreError) -> [TransferTask]
  func unfinishedTasks(after id: TaskID?, limit: Int) async throws(StoreError) -> [TransferTask]
  func smallBody(of id: TaskID) async throws(StoreError) -> [UInt8]?
  /// The metrics of a finished task, as JSON.
  func metrics(of id: TaskID) async throws(StoreError) -> [UInt8]?
  func decision(_ id: DecisionID) async throws(StoreError) -> Decision?
  /// A page of a session's decisions, oldest first.
  func decisions(
    of session: SessionID, state: Decision.State?, after: DecisionID?, limit: Int
  ) async throws(StoreError) -> [Decision]
  /// The permanent credentials of all sessions.
  func credentials() async throws(StoreError) -> [StoredCredential]
  /// The cookies of all sessions, oldest first.
  func cookies() async throws(StoreError) -> [(session: SessionID, cookie: Cookie)]
  func configuration(_ name: ConfigurationName) async throws(StoreError) -> NamedConfiguration?
  /// A page of a tenant's named configurations, by name.
  func configurations(
    of tenant: Tenant, after: String?, limit: Int
  ) async throws(StoreError) -> [NamedConfiguration]
  func file(_ id: FileID) async throws(StoreError) -> StoredFile?
  /// A page of a tenant's stored files, oldest first.
  func files(of tenant: Tenant, after: FileID?, limit: Int) async throws(StoreError) -> [StoredFile]
  func bodyFiles(of session: SessionID) async throws(StoreError) -> [TaskID]
  /// Whether a session has tasks or events.
  func hasTasks(_ session: SessionID) async throws(StoreError) -> Bool
  func hasBodyFile(_ id: TaskID) async throws(StoreError) -> Bool
  /// Those of the tasks whose bodies are files on the disk.
  func bodyFiles(among ids: [TaskID]) async throws(StoreError) -> Set<TaskID>
  /// Whether a message of the task is yet to be delivered.
  func hasPendingDelivery(_ task: TaskID) async throws(StoreError) -> Bool

  /// Fragments with events after `sequence`, about `maximumBytes` of them.
  func journal(
    _ scope: EventScope, after sequence: Int64, maximumBytes: Int
  ) async throws(StoreError) -> JournalPage

  func commands(after number: Int64, limit: Int) async throws(StoreError) -> [Queued<StoredCommand>]
  func news(after number: Int64, limit: Int) async throws(StoreError) -> [Queued<String>]
  func lastNews() async throws(StoreError) -> Int64?
  func work() async throws(StoreError) -> [StoredWork]
  /// A page of it.
  func work(after task: TaskID?, limit: Int) async throws(StoreError) -> [StoredWork]
  func tasks(_ ids: [TaskID]) async throws(StoreError) -> [TransferTask]
  /// Finished tasks without a message that is yet to be delivered, in the query's order.
  func finishedTasks(_ query: FinishedTaskQuery, limit: Int) async throws(StoreError) -> [FinishedTask]
  /// Bytes of what all finished tasks left on the disk.
  func keptBytes() async throws(StoreError) -> Int64
  /// The first rows of the journal.
  func oldestEvents(limit: Int) async throws(StoreError) -> [AgedEvents]
  /// What is of no use to anyone any more, at most `limit` of each kind.
  func staleRecords(_ ages: StaleRecords.Ages, limit: Int) async throws(StoreError) -> StaleRecords

  /// Messages whose time has come, the longest due first; and behind them those that were tried more than a minute later than
  /// now: the clock was set back, and nobody waits for it to get there again.
  func dueDeliveries(at time: Timestamp, limit: Int) async throws(StoreError) -> [WebhookDelivery]
  /// The messages of background sessions that were not handed over yet.
  func pendingBackgroundDeliveries() async throws(StoreError) -> [PendingDelivery]
  func nextDeliveryTime() async throws(StoreError) -> Timestamp?
  func idempotentReply(_ key: IdempotencyKey) async throws(StoreError) -> IdempotentReply?
  /// What may stand in a reply for a request with that digest, one for each of the service's keys; the first is the one
  /// to keep.
  func fingerprints(of digest: [UInt8]) -> [[UInt8]]

  /// Writes what is pending and closes. Nothing may be called afterwards.
  func close() async
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

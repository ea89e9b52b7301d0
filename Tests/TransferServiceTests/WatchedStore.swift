import HTTPCookies
import TransferModel

@testable import TransferStore

/// A store that a test can stop at certain moments.
final class WatchedStore: TransferStore {
  struct Moments: Sendable {
    /// Behind the commit of what a client asked for, before the caller knows.
    var committed: @Sendable (StoreChange) async -> Void = { _ in }
    /// Somebody asks whether it takes writes.
    var asked: @Sendable () -> Void = {}
  }
  private let store: SQLiteStore
  private let moments: Moments

  init(_ store: SQLiteStore, _ moments: Moments) {
    self.store = store
    self.moments = moments
  }

  func write(_ change: StoreChange) async throws(StoreError) {
    try await store.write(change)
    await moments.committed(change)
  }
  func record(_ change: StoreChange, committed: @escaping @Sendable () -> Void) {
    store.record(change, committed: committed)
  }
  var isHealthy: Bool {
    moments.asked()
    return store.isHealthy
  }
  var unreadable: UnreadableRows { store.unreadable }
  var lastSequence: Int64 { store.lastSequence }
  func sessions() async throws(StoreError) -> [(session: TransferSession, lastIdentifier: Int)] {
    try await store.sessions()
  }
  func task(_ id: TaskID) async throws(StoreError) -> TransferTask? { try await store.task(id) }
  func tasks(_ query: TaskQuery) async throws(StoreError) -> [TransferTask] { try await store.tasks(query) }
  func unfinishedTasks(after id: TaskID?, limit: Int) async throws(StoreError) -> [TransferTask] {
    try await store.unfinishedTasks(after: id, limit: limit)
  }
  func smallBody(of id: TaskID) async throws(StoreError) -> [UInt8]? { try await store.smallBody(of: id) }
  func metrics(of id: TaskID) async throws(StoreError) -> [UInt8]? { try await store.metrics(of: id) }
  func decision(_ id: DecisionID) async throws(StoreError) -> Decision? { try await store.decision(id) }
  func decisions(
    of session: SessionID, state: Decision.State?, after: DecisionID?, limit: Int
  ) async throws(StoreError) -> [Decision] {
    try await store.decisions(of: session, state: state, after: after, limit: limit)
  }
  func credentials() async throws(StoreError) -> [StoredCredential] { try await store.credentials() }
  func cookies() async throws(StoreError) -> [(session: SessionID, cookie: Cookie)] {
    try await store.cookies()
  }
  func configuration(_ name: ConfigurationName) async throws(StoreError) -> NamedConfiguration? {
    try await store.configuration(name)
  }
  func configurations(
    of tenant: Tenant, after: String?, limit: Int
  ) async throws(StoreError) -> [NamedConfiguration] {
    try await store.configurations(of: tenant, after: after, limit: limit)
  }
  func file(_ id: FileID) async throws(StoreError) -> StoredFile? { try await store.file(id) }
  func files(of tenant: Tenant, after: FileID?, limit: Int) async throws(StoreError) -> [StoredFile] {
    try await store.files(of: tenant, after: after, limit: limit)
  }
  func bodyFiles(of session: SessionID) async throws(StoreError) -> [TaskID] {
    try await store.bodyFiles(of: session)
  }
  func hasTasks(_ session: SessionID) async throws(StoreError) -> Bool { try await store.hasTasks(session) }
  func hasBodyFile(_ id: TaskID) async throws(StoreError) -> Bool { try await store.hasBodyFile(id) }
  func bodyFiles(among ids: [TaskID]) async throws(StoreError) -> Set<TaskID> {
    try await store.bodyFiles(among: ids)
  }
  func hasPendingDelivery(_ task: TaskID) async throws(StoreError) -> Bool {
    try await store.hasPendingDelivery(task)
  }
  func journal(
    _ scope: EventScope, after sequence: Int64, maximumBytes: Int
  ) async throws(StoreError) -> JournalPage {
    try await store.journal(scope, after: sequence, maximumBytes: maximumBytes)
  }
  func commands(after number: Int64, limit: Int) async throws(StoreError) -> [Queued<StoredCommand>] {
    try await store.commands(after: number, limit: limit)
  }
  func news(after number: Int64, limit: Int) async throws(StoreError) -> [Queued<String>] {
    try await store.news(after: number, limit: limit)
  }
  func lastNews() async throws(StoreError) -> Int64? { try await store.lastNews() }
  func work(after task: TaskID?, limit: Int) async throws(StoreError) -> [StoredWork] {
    try await store.work(after: task, limit: limit)
  }
  func work() async throws(StoreError) -> [StoredWork] { try await store.work() }
  func tasks(_ ids: [TaskID]) async throws(StoreError) -> [TransferTask] { try await store.tasks(ids) }
  func finishedTasks(_ query: FinishedTaskQuery, limit: Int) async throws(StoreError) -> [FinishedTask] {
    try await store.finishedTasks(query, limit: limit)
  }
  func keptBytes() async throws(StoreError) -> Int64 { try await store.keptBytes() }
  func oldestEvents(limit: Int) async throws(StoreError) -> [AgedEvents] {
    try await store.oldestEvents(limit: limit)
  }
  func staleRecords(_ ages: StaleRecords.Ages, limit: Int) async throws(StoreError) -> StaleRecords {
    try await store.staleRecords(ages, limit: limit)
  }
  func dueDeliveries(at time: Timestamp, limit: Int) async throws(StoreError) -> [WebhookDelivery] {
    try await store.dueDeliveries(at: time, limit: limit)
  }
  func pendingBackgroundDeliveries() async throws(StoreError) -> [PendingDelivery] {
    try await store.pendingBackgroundDeliveries()
  }
  func nextDeliveryTime() async throws(StoreError) -> Timestamp? { try await store.nextDeliveryTime() }
  func idempotentReply(_ key: IdempotencyKey) async throws(StoreError) -> IdempotentReply? {
    try await store.idempotentReply(key)
  }
  func fingerprints(of digest: [UInt8]) -> [[UInt8]] { store.fingerprints(of: digest) }
  func close() async { await store.close() }
}

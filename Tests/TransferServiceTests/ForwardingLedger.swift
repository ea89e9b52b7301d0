import HTTPCookies
import Ledger
import TransferModel

/// A ledger over another one. It passes on what it does not implement itself.
protocol ForwardingLedger: Ledger {
  var base: any Ledger { get }
}

extension ForwardingLedger {
  var epoch: Epoch? { base.epoch }
  var unreadable: UnreadableRows { base.unreadable }
  var refusal: StoreError? { base.refusal }
  var lastSequence: Int64 { base.lastSequence }
  var highestSequence: Int64 { base.highestSequence }
  func ownership() async throws(StoreError) -> OwnershipTable { try await base.ownership() }
  func follow() { base.follow() }
  func ping(_ answer: @escaping @Sendable () -> Void) { base.ping(answer) }
  func close() async { await base.close() }
  func append(_ entry: CommitEntry) { base.append(entry) }
  func retained(in place: RetainedPlace) -> any RetentionRecords { base.retained(in: place) }
}

// MARK: Tasks

extension ForwardingLedger {
  func task(_ id: TaskID) async throws(StoreError) -> TransferTask? { try await base.task(id) }
  func tasks(_ query: TaskQuery) async throws(StoreError) -> [TransferTask] { try await base.tasks(query) }
  func tasks(_ ids: [TaskID]) async throws(StoreError) -> [TransferTask] { try await base.tasks(ids) }
  func unfinishedTasks(after last: TransferTask?, limit: Int) async throws(StoreError) -> [TransferTask] {
    try await base.unfinishedTasks(after: last, limit: limit)
  }
  func smallBody(of id: TaskID) async throws(StoreError) -> [UInt8]? { try await base.smallBody(of: id) }
  func metrics(of id: TaskID) async throws(StoreError) -> [UInt8]? { try await base.metrics(of: id) }
  func decision(_ id: DecisionID) async throws(StoreError) -> Decision? { try await base.decision(id) }
  func decisions(
    of session: SessionID, state: Decision.State?, after: DecisionID?, limit: Int
  ) async throws(StoreError) -> [Decision] {
    try await base.decisions(of: session, state: state, after: after, limit: limit)
  }
  func bodyFiles(of session: SessionID) async throws(StoreError) -> [TaskID] {
    try await base.bodyFiles(of: session)
  }
  func bodyFiles(among ids: [TaskID]) async throws(StoreError) -> Set<TaskID> {
    try await base.bodyFiles(among: ids)
  }
  func hasTasks(_ session: SessionID) async throws(StoreError) -> Bool { try await base.hasTasks(session) }
  func hasBodyFile(_ id: TaskID) async throws(StoreError) -> Bool { try await base.hasBodyFile(id) }
}

// MARK: Sessions, configurations, files and replies

extension ForwardingLedger {
  func sessions() async throws(StoreError) -> [(session: TransferSession, lastIdentifier: Int)] {
    try await base.sessions()
  }
  func session(_ id: SessionID) async throws(StoreError) -> TransferSession? { try await base.session(id) }
  func sessionsWithStorage() async throws(StoreError) -> [SessionID] { try await base.sessionsWithStorage() }
  func storage(of session: SessionID) async throws(StoreError) -> StoredStorage {
    try await base.storage(of: session)
  }
  func configuration(_ name: ConfigurationName) async throws(StoreError) -> NamedConfiguration? {
    try await base.configuration(name)
  }
  func configurations(
    of tenant: Tenant, after: String?, limit: Int
  ) async throws(StoreError) -> [NamedConfiguration] {
    try await base.configurations(of: tenant, after: after, limit: limit)
  }
  func file(_ id: FileID) async throws(StoreError) -> StoredFile? { try await base.file(id) }
  func files(of tenant: Tenant, after: FileID?, limit: Int) async throws(StoreError) -> [StoredFile] {
    try await base.files(of: tenant, after: after, limit: limit)
  }
  func idempotentReply(
    _ key: IdempotencyKey, to digest: [UInt8]
  ) async throws(StoreError) -> KeptReply? {
    try await base.idempotentReply(key, to: digest)
  }
}

// MARK: Journal, queues and outbox

extension ForwardingLedger {
  func journal(
    _ scope: EventScope, after sequence: Int64, maximumBytes: Int
  ) async throws(StoreError) -> JournalPage {
    try await base.journal(scope, after: sequence, maximumBytes: maximumBytes)
  }
  func commands(after number: Int64, limit: Int) async throws(StoreError) -> [Queued<StoredCommand>] {
    try await base.commands(after: number, limit: limit)
  }
  func news(after number: Int64, limit: Int) async throws(StoreError) -> [Queued<String>] {
    try await base.news(after: number, limit: limit)
  }
  func lastNews() async throws(StoreError) -> Int64? { try await base.lastNews() }
  func work() async throws(StoreError) -> [StoredWork] { try await base.work() }
  func work(after task: TaskID?, limit: Int) async throws(StoreError) -> [StoredWork] {
    try await base.work(after: task, limit: limit)
  }
  func dueDeliveries(at time: Timestamp, limit: Int) async throws(StoreError) -> [WebhookDelivery] {
    try await base.dueDeliveries(at: time, limit: limit)
  }
  func pendingBackgroundDeliveries() async throws(StoreError) -> [PendingDelivery] {
    try await base.pendingBackgroundDeliveries()
  }
  func nextDeliveryTime() async throws(StoreError) -> Timestamp? { try await base.nextDeliveryTime() }
  func hasPendingDelivery(_ task: TaskID) async throws(StoreError) -> Bool {
    try await base.hasPendingDelivery(task)
  }
}

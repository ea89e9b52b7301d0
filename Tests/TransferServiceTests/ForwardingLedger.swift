import HTTPCookies
import Ledger
import TransferModel

/// A ledger that passes all calls to another one, except those that a type implements itself.
protocol ForwardingLedger: Ledger {
  var base: any Ledger { get }
}

extension ForwardingLedger {
  var epoch: Epoch? { base.epoch }
  var unreadable: UnreadableRows { base.unreadable }
  var refusal: LedgerError? { base.refusal }
  var lastSequence: Int64 { base.lastSequence }
  var highestSequence: Int64 { base.highestSequence }
  func ownership() async throws(LedgerError) -> OwnershipTable { try await base.ownership() }
  func publishRemoteCommits() { base.publishRemoteCommits() }
  func ping(_ answer: @escaping @Sendable () -> Void) { base.ping(answer) }
  func close() async { await base.close() }
  func append(_ entry: CommitEntry) { base.append(entry) }
  func retentionRecords(in place: StorageTier) -> any RetentionRecords { base.retentionRecords(in: place) }
}

// MARK: Tasks

extension ForwardingLedger {
  func task(_ id: TaskID) async throws(LedgerError) -> TransferTask? { try await base.task(id) }
  func tasks(_ query: TaskQuery) async throws(LedgerError) -> [TransferTask] { try await base.tasks(query) }
  func tasks(_ ids: [TaskID]) async throws(LedgerError) -> [TransferTask] { try await base.tasks(ids) }
  func unfinishedTasks(after last: TransferTask?, limit: Int) async throws(LedgerError) -> [TransferTask] {
    try await base.unfinishedTasks(after: last, limit: limit)
  }
  func smallBody(of id: TaskID) async throws(LedgerError) -> [UInt8]? { try await base.smallBody(of: id) }
  func metrics(of id: TaskID) async throws(LedgerError) -> [UInt8]? { try await base.metrics(of: id) }
  func decision(_ id: DecisionID) async throws(LedgerError) -> Decision? { try await base.decision(id) }
  func decisions(
    of session: SessionID, state: Decision.State?, after: DecisionID?, order: ListOrder, limit: Int
  ) async throws(LedgerError) -> [Decision] {
    try await base.decisions(of: session, state: state, after: after, order: order, limit: limit)
  }
  func bodyFiles(of session: SessionID) async throws(LedgerError) -> [TaskID] {
    try await base.bodyFiles(of: session)
  }
  func bodyFiles(among ids: [TaskID]) async throws(LedgerError) -> Set<TaskID> {
    try await base.bodyFiles(among: ids)
  }
  func hasTasks(_ session: SessionID) async throws(LedgerError) -> Bool { try await base.hasTasks(session) }
  func hasBodyFile(_ id: TaskID) async throws(LedgerError) -> Bool { try await base.hasBodyFile(id) }
}

// MARK: Groups

extension ForwardingLedger {
  func group(_ key: TaskGroupKey) async throws(LedgerError) -> TaskGroup? { try await base.group(key) }
  func hasUnfinishedTasks(_ key: TaskGroupKey) async throws(LedgerError) -> Bool {
    try await base.hasUnfinishedTasks(key)
  }
  func closedGroups(
    among keys: Set<TaskGroupKey>
  ) async throws(LedgerError) -> Set<TaskGroupKey> {
    try await base.closedGroups(among: keys)
  }
  func counts(of key: TaskGroupKey) async throws(LedgerError) -> GroupCounts {
    try await base.counts(of: key)
  }
  func sessions(of key: TaskGroupKey) async throws(LedgerError) -> [SessionID] {
    try await base.sessions(of: key)
  }
  func groups(
    of tenant: Tenant, after: TaskGroup?, order: ListOrder, limit: Int
  ) async throws(LedgerError) -> [TaskGroup] {
    try await base.groups(of: tenant, after: after, order: order, limit: limit)
  }
  func closedGroups() async throws(LedgerError) -> [TaskGroup] { try await base.closedGroups() }
}

// MARK: Sessions, configurations, files and replies

extension ForwardingLedger {
  func sessions() async throws(LedgerError) -> [(session: TransferSession, lastIdentifier: Int)] {
    try await base.sessions()
  }
  func session(_ id: SessionID) async throws(LedgerError) -> TransferSession? { try await base.session(id) }
  func sessionsWithStorage() async throws(LedgerError) -> [SessionID] { try await base.sessionsWithStorage() }
  func storage(of session: SessionID) async throws(LedgerError) -> SessionStorageRows {
    try await base.storage(of: session)
  }
  func configuration(_ name: ConfigurationName) async throws(LedgerError) -> NamedConfiguration? {
    try await base.configuration(name)
  }
  func configurations(
    of tenant: Tenant, after: ConfigurationCursor?, order: ListOrder?, limit: Int
  ) async throws(LedgerError) -> [NamedConfiguration] {
    try await base.configurations(of: tenant, after: after, order: order, limit: limit)
  }
  func file(_ id: FileID) async throws(LedgerError) -> StoredFile? { try await base.file(id) }
  func files(
    of tenant: Tenant, after: FileID?, order: ListOrder, limit: Int
  ) async throws(LedgerError) -> [StoredFile] {
    try await base.files(of: tenant, after: after, order: order, limit: limit)
  }
  func idempotentReply(
    _ key: IdempotencyKey, to digest: [UInt8]
  ) async throws(LedgerError) -> IdempotencyLookup? {
    try await base.idempotentReply(key, to: digest)
  }
}

// MARK: Journal, queues and outbox

extension ForwardingLedger {
  func journal(
    _ scope: EventScope, after sequence: Int64, maximumBytes: Int
  ) async throws(LedgerError) -> JournalPage {
    try await base.journal(scope, after: sequence, maximumBytes: maximumBytes)
  }
  func commands(after number: Int64, limit: Int) async throws(LedgerError) -> [QueueRow<StoredCommand>] {
    try await base.commands(after: number, limit: limit)
  }
  func workerReports(after number: Int64, limit: Int) async throws(LedgerError) -> [QueueRow<String>] {
    try await base.workerReports(after: number, limit: limit)
  }
  func lastWorkerReport() async throws(LedgerError) -> Int64? { try await base.lastWorkerReport() }
  func work() async throws(LedgerError) -> [StoredWork] { try await base.work() }
  func work(after task: TaskID?, limit: Int) async throws(LedgerError) -> [StoredWork] {
    try await base.work(after: task, limit: limit)
  }
  func destination(of url: String, for tenant: Tenant) -> DestinationID {
    base.destination(of: url, for: tenant)
  }
  func pendingDestinations(
    after: DestinationID?, limit: Int
  ) async throws(LedgerError) -> [PendingDestination] {
    try await base.pendingDestinations(after: after, limit: limit)
  }
  func dueDeliveries(_ query: DueDeliveryQuery) async throws(LedgerError) -> DueDeliveries {
    try await base.dueDeliveries(query)
  }
  func delivery(_ id: DeliveryID) async throws(LedgerError) -> WebhookDelivery? {
    try await base.delivery(id)
  }
  func deliveries(_ query: DeliveryQuery) async throws(LedgerError) -> [WebhookDelivery] {
    try await base.deliveries(query)
  }
  func endpoints() async throws(LedgerError) -> [WebhookEndpoint] { try await base.endpoints() }
  func pendingBackgroundDeliveries() async throws(LedgerError) -> [PendingDelivery] {
    try await base.pendingBackgroundDeliveries()
  }
  func hasPendingDelivery(_ task: TaskID) async throws(LedgerError) -> Bool {
    try await base.hasPendingDelivery(task)
  }
}

package import Ledger
package import TransferModel

// A record is read from the ledger of its session if the session is known. Otherwise memory is tried first, because that costs little.

extension CompositeLedger {
  private var hasMemory: Bool { !memory.isEmpty }

  private func ledger(of session: SessionID) -> any TaskRecords & SessionRecords {
    memory.contains(session) ? memory : durable
  }

  package func retentionRecords(in place: StorageTier) -> any RetentionRecords {
    place == .memory ? memory : durable.retentionRecords(in: place)
  }
}

// MARK: Tasks

extension CompositeLedger {
  package func task(_ id: TaskID) async throws(LedgerError) -> TransferTask? {
    if hasMemory, let task = try await memory.task(id) { return task }
    return try await durable.task(id)
  }

  package func tasks(_ query: TaskQuery) async throws(LedgerError) -> [TransferTask] {
    if case .session(let session) = query.scope { return try await ledger(of: session).tasks(query) }
    if query.isOfMemory { return hasMemory ? try await memory.tasks(query) : [] }
    let others = try await durable.tasks(query)
    guard hasMemory else { return others }
    let own = try await memory.tasks(query)
    let all = (own + others).sorted { query.order.isAscending($0.id, $1.id) }
    return Array(all.prefix(query.limit))
  }

  package func tasks(_ ids: [TaskID]) async throws(LedgerError) -> [TransferTask] {
    let found = hasMemory ? try await memory.tasks(ids) : []
    guard found.count < ids.count else { return found }
    return found + (try await durable.tasks(ids))
  }

  /// Returns tasks of the durable ledger only: tasks of ephemeral sessions end with their process and are not recovered.
  package func unfinishedTasks(
    after last: TransferTask?, limit: Int
  ) async throws(LedgerError) -> [TransferTask] {
    try await durable.unfinishedTasks(after: last, limit: limit)
  }

  package func smallBody(of id: TaskID) async throws(LedgerError) -> [UInt8]? {
    if hasMemory, let body = try await memory.smallBody(of: id) { return body }
    return try await durable.smallBody(of: id)
  }

  package func metrics(of id: TaskID) async throws(LedgerError) -> [UInt8]? {
    if hasMemory, let metrics = try await memory.metrics(of: id) { return metrics }
    return try await durable.metrics(of: id)
  }

  package func decision(_ id: DecisionID) async throws(LedgerError) -> Decision? {
    if hasMemory, let decision = try await memory.decision(id) { return decision }
    return try await durable.decision(id)
  }

  package func decisions(
    of session: SessionID, state: Decision.State?, after: DecisionID?, order: ListOrder, limit: Int
  ) async throws(LedgerError) -> [Decision] {
    try await ledger(of: session).decisions(
      of: session, state: state, after: after, order: order, limit: limit)
  }

  package func bodyFiles(of session: SessionID) async throws(LedgerError) -> [TaskID] {
    try await ledger(of: session).bodyFiles(of: session)
  }

  package func bodyFiles(among ids: [TaskID]) async throws(LedgerError) -> Set<TaskID> {
    let found = try await durable.bodyFiles(among: ids)
    return hasMemory ? found.union(try await memory.bodyFiles(among: ids)) : found
  }

  package func hasTasks(_ session: SessionID) async throws(LedgerError) -> Bool {
    try await ledger(of: session).hasTasks(session)
  }

  package func hasBodyFile(_ id: TaskID) async throws(LedgerError) -> Bool {
    if hasMemory, try await memory.hasBodyFile(id) { return true }
    return try await durable.hasBodyFile(id)
  }
}

// MARK: Groups

/// Tasks of ephemeral sessions have no groups.
extension CompositeLedger {
  package func group(_ key: TaskGroupKey) async throws(LedgerError) -> TaskGroup? {
    try await durable.group(key)
  }

  package func hasUnfinishedTasks(_ key: TaskGroupKey) async throws(LedgerError) -> Bool {
    try await durable.hasUnfinishedTasks(key)
  }

  package func closedGroups(
    among keys: Set<TaskGroupKey>
  ) async throws(LedgerError) -> Set<TaskGroupKey> {
    try await durable.closedGroups(among: keys)
  }

  package func counts(of key: TaskGroupKey) async throws(LedgerError) -> GroupCounts {
    try await durable.counts(of: key)
  }

  package func counts(ofTenant tenant: Tenant) async throws(LedgerError) -> GroupCounts {
    let counts = try await durable.counts(ofTenant: tenant)
    guard hasMemory else { return counts }
    return try await counts + memory.counts(ofTenant: tenant)
  }

  package func sessions(of key: TaskGroupKey) async throws(LedgerError) -> [SessionID] {
    try await durable.sessions(of: key)
  }

  package func groups(
    of tenant: Tenant, after: TaskGroup?, order: ListOrder, limit: Int
  ) async throws(LedgerError) -> [TaskGroup] {
    try await durable.groups(of: tenant, after: after, order: order, limit: limit)
  }

  package func closedGroups() async throws(LedgerError) -> [TaskGroup] { try await durable.closedGroups() }
}

// MARK: Sessions, configurations, files and replies

extension CompositeLedger {
  package func sessions() async throws(LedgerError) -> [(session: TransferSession, lastIdentifier: Int)] {
    try await durable.sessions()
  }

  package func session(_ id: SessionID) async throws(LedgerError) -> TransferSession? {
    try await ledger(of: id).session(id)
  }

  package func sessionsWithStorage() async throws(LedgerError) -> [SessionID] {
    try await durable.sessionsWithStorage()
  }

  package func storage(of session: SessionID) async throws(LedgerError) -> SessionStorageRows {
    try await durable.storage(of: session)
  }

  package func configuration(_ name: ConfigurationName) async throws(LedgerError) -> NamedConfiguration? {
    try await durable.configuration(name)
  }

  package func configurations(
    of tenant: Tenant, after: ConfigurationCursor?, order: ListOrder?, limit: Int
  ) async throws(LedgerError) -> [NamedConfiguration] {
    try await durable.configurations(of: tenant, after: after, order: order, limit: limit)
  }

  package func file(_ id: FileID) async throws(LedgerError) -> StoredFile? { try await durable.file(id) }

  package func files(
    of tenant: Tenant, after: FileID?, order: ListOrder, limit: Int
  ) async throws(LedgerError) -> [StoredFile] {
    try await durable.files(of: tenant, after: after, order: order, limit: limit)
  }

  package func idempotentReply(
    _ key: IdempotencyKey, to digest: [UInt8]
  ) async throws(LedgerError) -> IdempotencyLookup? {
    if hasMemory, let reply = try await memory.idempotentReply(key, to: digest) { return reply }
    return try await durable.idempotentReply(key, to: digest)
  }
}

// MARK: Events and deliveries

extension CompositeLedger {
  package func journal(
    _ scope: EventScope, after sequence: Int64, maximumBytes: Int
  ) async throws(LedgerError) -> JournalPage {
    // Both ledgers are complete up to `known`. A later change may be visible in one of them only.
    let known = max(lastSequence, sequence)
    if try await isInMemory(scope) {
      var page = try await memory.journal(scope, after: sequence, maximumBytes: maximumBytes)
      if page.isLast { page.coveredSequence = max(page.coveredSequence, known) }
      return page
    }
    let page = try await durable.journal(scope, after: sequence, maximumBytes: maximumBytes)
    guard case .tenant = scope, hasMemory else { return page }
    let own = try await memory.journal(scope, after: sequence, maximumBytes: maximumBytes)
    return .joined(page, own, known: known)
  }

  private func isInMemory(_ scope: EventScope) async throws(LedgerError) -> Bool {
    switch scope {
    case .tenant: false
    case .session(let session): memory.contains(session)
    case .task(let task): hasMemory ? try await memory.task(task) != nil : false
    }
  }

  package func destination(of url: String, for tenant: Tenant) -> DestinationID {
    durable.destination(of: url, for: tenant)
  }

  package func pendingDestinations(
    after: DestinationID?, limit: Int
  ) async throws(LedgerError) -> [PendingDestination] {
    let others = try await durable.pendingDestinations(after: after, limit: limit)
    guard hasMemory else { return others }
    let own = try await memory.pendingDestinations(after: after, limit: limit)
    let all = Dictionary((own + others).map { ($0.id, $0) }, uniquingKeysWith: { $0.earlier(of: $1) })
    return Array(all.values.sorted { $0.id < $1.id }.prefix(limit))
  }

  package func dueDeliveries(_ query: DueDeliveryQuery) async throws(LedgerError) -> DueDeliveries {
    let others = try await durable.dueDeliveries(query)
    guard hasMemory else { return others }
    let own = try await memory.dueDeliveries(query)
    let all = (own.deliveries + others.deliveries).sorted { $0.nextAttemptAt < $1.nextAttemptAt }
    return DueDeliveries(
      Array(all.prefix(query.limit)), isLast: own.isLast && others.isLast && all.count <= query.limit,
      nextAttemptAt: [own.nextAttemptAt, others.nextAttemptAt].compactMap(\.self).min())
  }

  package func delivery(_ id: DeliveryID) async throws(LedgerError) -> WebhookDelivery? {
    if hasMemory, let delivery = try await memory.delivery(id) { return delivery }
    return try await durable.delivery(id)
  }

  package func deliveries(_ query: DeliveryQuery) async throws(LedgerError) -> [WebhookDelivery] {
    let others = try await durable.deliveries(query)
    guard hasMemory else { return others }
    let own = try await memory.deliveries(query)
    return Array((own + others).sorted { query.order.isAscending($0.id, $1.id) }.prefix(query.limit))
  }

  package func endpoints() async throws(LedgerError) -> [WebhookEndpoint] { try await durable.endpoints() }

  package func pendingBackgroundDeliveries() async throws(LedgerError) -> [PendingDelivery] {
    try await durable.pendingBackgroundDeliveries()
  }

  package func hasPendingDelivery(_ task: TaskID) async throws(LedgerError) -> Bool {
    if hasMemory, try await memory.hasPendingDelivery(task) { return true }
    return try await durable.hasPendingDelivery(task)
  }
}

// MARK: Queues between service and worker

extension CompositeLedger {
  package func commands(
    after number: Int64, limit: Int
  ) async throws(LedgerError) -> [QueueRow<StoredCommand>] {
    try await durable.commands(after: number, limit: limit)
  }

  package func workerReports(after number: Int64, limit: Int) async throws(LedgerError) -> [QueueRow<String>]
  {
    try await durable.workerReports(after: number, limit: limit)
  }

  package func lastWorkerReport() async throws(LedgerError) -> Int64? { try await durable.lastWorkerReport() }
  package func work() async throws(LedgerError) -> [StoredWork] { try await durable.work() }

  package func work(after task: TaskID?, limit: Int) async throws(LedgerError) -> [StoredWork] {
    try await durable.work(after: task, limit: limit)
  }
}

package import Ledger
package import TransferModel

// Where a record is looked for: in the ledger of its session if that is known, else first in memory, which costs little.

extension CompositeLedger {
  private var hasMemory: Bool { !memory.knowsNoSession }

  private func ledger(of session: SessionID) -> any TaskRecords & KeptRecords {
    memory.contains(session) ? memory : durable
  }

  package func retained(in place: RetainedPlace) -> any RetentionRecords {
    place == .memory ? memory : durable.retained(in: place)
  }
}

// MARK: Tasks

extension CompositeLedger {
  package func task(_ id: TaskID) async throws(StoreError) -> TransferTask? {
    if hasMemory, let task = try await memory.task(id) { return task }
    return try await durable.task(id)
  }

  package func tasks(_ query: TaskQuery) async throws(StoreError) -> [TransferTask] {
    try await ledger(of: query.session).tasks(query)
  }

  package func tasks(_ ids: [TaskID]) async throws(StoreError) -> [TransferTask] {
    let found = hasMemory ? try await memory.tasks(ids) : []
    guard found.count < ids.count else { return found }
    return found + (try await durable.tasks(ids))
  }

  /// Tasks of ephemeral sessions end with their process, and are not recovered.
  package func unfinishedTasks(
    after last: TransferTask?, limit: Int
  ) async throws(StoreError) -> [TransferTask] {
    try await durable.unfinishedTasks(after: last, limit: limit)
  }

  package func smallBody(of id: TaskID) async throws(StoreError) -> [UInt8]? {
    if hasMemory, let body = try await memory.smallBody(of: id) { return body }
    return try await durable.smallBody(of: id)
  }

  package func metrics(of id: TaskID) async throws(StoreError) -> [UInt8]? {
    if hasMemory, let metrics = try await memory.metrics(of: id) { return metrics }
    return try await durable.metrics(of: id)
  }

  package func decision(_ id: DecisionID) async throws(StoreError) -> Decision? {
    if hasMemory, let decision = try await memory.decision(id) { return decision }
    return try await durable.decision(id)
  }

  package func decisions(
    of session: SessionID, state: Decision.State?, after: DecisionID?, limit: Int
  ) async throws(StoreError) -> [Decision] {
    try await ledger(of: session).decisions(of: session, state: state, after: after, limit: limit)
  }

  package func bodyFiles(of session: SessionID) async throws(StoreError) -> [TaskID] {
    try await ledger(of: session).bodyFiles(of: session)
  }

  package func bodyFiles(among ids: [TaskID]) async throws(StoreError) -> Set<TaskID> {
    let found = try await durable.bodyFiles(among: ids)
    return hasMemory ? found.union(try await memory.bodyFiles(among: ids)) : found
  }

  package func hasTasks(_ session: SessionID) async throws(StoreError) -> Bool {
    try await ledger(of: session).hasTasks(session)
  }

  package func hasBodyFile(_ id: TaskID) async throws(StoreError) -> Bool {
    if hasMemory, try await memory.hasBodyFile(id) { return true }
    return try await durable.hasBodyFile(id)
  }
}

// MARK: Sessions, configurations, files and replies

extension CompositeLedger {
  package func sessions() async throws(StoreError) -> [(session: TransferSession, lastIdentifier: Int)] {
    try await durable.sessions()
  }

  package func session(_ id: SessionID) async throws(StoreError) -> TransferSession? {
    try await ledger(of: id).session(id)
  }

  package func sessionsWithStorage() async throws(StoreError) -> [SessionID] {
    try await durable.sessionsWithStorage()
  }

  package func storage(of session: SessionID) async throws(StoreError) -> StoredStorage {
    try await durable.storage(of: session)
  }

  package func configuration(_ name: ConfigurationName) async throws(StoreError) -> NamedConfiguration? {
    try await durable.configuration(name)
  }

  package func configurations(
    of tenant: Tenant, after: String?, limit: Int
  ) async throws(StoreError) -> [NamedConfiguration] {
    try await durable.configurations(of: tenant, after: after, limit: limit)
  }

  package func file(_ id: FileID) async throws(StoreError) -> StoredFile? { try await durable.file(id) }

  package func files(
    of tenant: Tenant, after: FileID?, limit: Int
  ) async throws(StoreError) -> [StoredFile] {
    try await durable.files(of: tenant, after: after, limit: limit)
  }

  package func idempotentReply(
    _ key: IdempotencyKey, to digest: [UInt8]
  ) async throws(StoreError) -> KeptReply? {
    if hasMemory, let reply = try await memory.idempotentReply(key, to: digest) { return reply }
    return try await durable.idempotentReply(key, to: digest)
  }
}

// MARK: Events and messages

extension CompositeLedger {
  package func journal(
    _ scope: EventScope, after sequence: Int64, maximumBytes: Int
  ) async throws(StoreError) -> JournalPage {
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

  private func isInMemory(_ scope: EventScope) async throws(StoreError) -> Bool {
    switch scope {
    case .tenant: false
    case .session(let session): memory.contains(session)
    case .task(let task): hasMemory ? try await memory.task(task) != nil : false
    }
  }

  package func dueDeliveries(at time: Timestamp, limit: Int) async throws(StoreError) -> [WebhookDelivery] {
    let others = try await durable.dueDeliveries(at: time, limit: limit)
    guard hasMemory else { return others }
    let own = try await memory.dueDeliveries(at: time, limit: limit)
    return Array((own + others).sorted { $0.nextAttemptAt < $1.nextAttemptAt }.prefix(limit))
  }

  package func pendingBackgroundDeliveries() async throws(StoreError) -> [PendingDelivery] {
    try await durable.pendingBackgroundDeliveries()
  }

  package func nextDeliveryTime() async throws(StoreError) -> Timestamp? {
    let time = try await durable.nextDeliveryTime()
    guard hasMemory, let own = try await memory.nextDeliveryTime() else { return time }
    return time.map { min($0, own) } ?? own
  }

  package func hasPendingDelivery(_ task: TaskID) async throws(StoreError) -> Bool {
    if hasMemory, try await memory.hasPendingDelivery(task) { return true }
    return try await durable.hasPendingDelivery(task)
  }
}

// MARK: Between the service and the worker

extension CompositeLedger {
  package func commands(
    after number: Int64, limit: Int
  ) async throws(StoreError) -> [Queued<StoredCommand>] {
    try await durable.commands(after: number, limit: limit)
  }

  package func news(after number: Int64, limit: Int) async throws(StoreError) -> [Queued<String>] {
    try await durable.news(after: number, limit: limit)
  }

  package func lastNews() async throws(StoreError) -> Int64? { try await durable.lastNews() }
  package func work() async throws(StoreError) -> [StoredWork] { try await durable.work() }

  package func work(after task: TaskID?, limit: Int) async throws(StoreError) -> [StoredWork] {
    try await durable.work(after: task, limit: limit)
  }
}

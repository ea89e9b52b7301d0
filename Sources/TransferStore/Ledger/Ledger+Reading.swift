package import TransferModel

/// The names by which whoever has a ledger asks for what is in it; the part that has the rows answers.
extension Ledger {
  package func task(_ id: TaskID) async throws(StoreError) -> TransferTask? {
    try await taskRecords.task(id)
  }

  package func tasks(_ query: TaskQuery) async throws(StoreError) -> [TransferTask] {
    try await taskRecords.tasks(query)
  }

  package func tasks(_ ids: [TaskID]) async throws(StoreError) -> [TransferTask] {
    try await taskRecords.tasks(ids)
  }

  package func unfinishedTasks(after last: TransferTask?, limit: Int) async throws(StoreError)
    -> [TransferTask]
  {
    try await taskRecords.unfinishedTasks(after: last, limit: limit)
  }

  package func smallBody(of id: TaskID) async throws(StoreError) -> [UInt8]? {
    try await taskRecords.smallBody(of: id)
  }

  package func metrics(of id: TaskID) async throws(StoreError) -> [UInt8]? {
    try await taskRecords.metrics(of: id)
  }

  package func decision(_ id: DecisionID) async throws(StoreError) -> Decision? {
    try await taskRecords.decision(id)
  }

  package func decisions(
    of session: SessionID, state: Decision.State?, after: DecisionID?, limit: Int
  ) async throws(StoreError) -> [Decision] {
    try await taskRecords.decisions(of: session, state: state, after: after, limit: limit)
  }

  package func bodyFiles(of session: SessionID) async throws(StoreError) -> [TaskID] {
    try await taskRecords.bodyFiles(of: session)
  }

  package func bodyFiles(among ids: [TaskID]) async throws(StoreError) -> Set<TaskID> {
    try await taskRecords.bodyFiles(among: ids)
  }

  package func hasTasks(_ session: SessionID) async throws(StoreError) -> Bool {
    try await taskRecords.hasTasks(session)
  }

  package func hasBodyFile(_ id: TaskID) async throws(StoreError) -> Bool {
    try await taskRecords.hasBodyFile(id)
  }

  package func sessions() async throws(StoreError) -> [(session: TransferSession, lastIdentifier: Int)] {
    try await keptRecords.sessions()
  }

  package func session(_ id: SessionID) async throws(StoreError) -> TransferSession? {
    try await keptRecords.session(id)
  }

  package func sessionsWithStorage() async throws(StoreError) -> [SessionID] {
    try await keptRecords.sessionsWithStorage()
  }

  package func storage(of session: SessionID) async throws(StoreError) -> StoredStorage {
    try await keptRecords.storage(of: session)
  }

  package func configuration(_ name: ConfigurationName) async throws(StoreError) -> NamedConfiguration? {
    try await keptRecords.configuration(name)
  }

  package func configurations(
    of tenant: Tenant, after: String?, limit: Int
  ) async throws(StoreError) -> [NamedConfiguration] {
    try await keptRecords.configurations(of: tenant, after: after, limit: limit)
  }

  package func file(_ id: FileID) async throws(StoreError) -> StoredFile? {
    try await keptRecords.file(id)
  }

  package func files(of tenant: Tenant, after: FileID?, limit: Int) async throws(StoreError) -> [StoredFile] {
    try await keptRecords.files(of: tenant, after: after, limit: limit)
  }

  package func idempotentReply(_ key: IdempotencyKey) async throws(StoreError) -> IdempotentReply? {
    try await keptRecords.idempotentReply(key)
  }

  package func journal(
    _ scope: EventScope, after sequence: Int64, maximumBytes: Int
  ) async throws(StoreError) -> JournalPage {
    try await journalRecords.journal(scope, after: sequence, maximumBytes: maximumBytes)
  }

  package func oldestEvents(
    in place: RetainedPlace = .everywhere, limit: Int
  ) async throws(StoreError) -> [AgedEvents] {
    try await journalRecords.oldestEvents(in: place, limit: limit)
  }

  package func commands(after number: Int64, limit: Int) async throws(StoreError) -> [Queued<StoredCommand>] {
    try await processQueues.commands(after: number, limit: limit)
  }

  package func news(after number: Int64, limit: Int) async throws(StoreError) -> [Queued<String>] {
    try await processQueues.news(after: number, limit: limit)
  }

  package func lastNews() async throws(StoreError) -> Int64? {
    try await processQueues.lastNews()
  }

  package func work() async throws(StoreError) -> [StoredWork] {
    try await processQueues.work()
  }

  package func work(after task: TaskID?, limit: Int) async throws(StoreError) -> [StoredWork] {
    try await processQueues.work(after: task, limit: limit)
  }

  package func finishedTasks(
    _ query: FinishedTaskQuery, in place: RetainedPlace = .everywhere, limit: Int
  ) async throws(StoreError) -> [FinishedTask] {
    try await retentionRecords.finishedTasks(query, in: place, limit: limit)
  }

  package func keptBytes() async throws(StoreError) -> Int64 {
    try await retentionRecords.keptBytes()
  }

  package func staleRecords(
    _ ages: StaleRecords.Ages, in place: RetainedPlace = .everywhere, limit: Int
  ) async throws(StoreError) -> StaleRecords {
    try await retentionRecords.staleRecords(ages, in: place, limit: limit)
  }

  package func dueDeliveries(at time: Timestamp, limit: Int) async throws(StoreError) -> [WebhookDelivery] {
    try await outboxRecords.dueDeliveries(at: time, limit: limit)
  }

  package func pendingBackgroundDeliveries() async throws(StoreError) -> [PendingDelivery] {
    try await outboxRecords.pendingBackgroundDeliveries()
  }

  package func nextDeliveryTime() async throws(StoreError) -> Timestamp? {
    try await outboxRecords.nextDeliveryTime()
  }

  package func hasPendingDelivery(_ task: TaskID) async throws(StoreError) -> Bool {
    try await outboxRecords.hasPendingDelivery(task)
  }
}

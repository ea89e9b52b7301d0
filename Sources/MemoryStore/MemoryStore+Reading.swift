package import HTTPCookies
package import TransferModel
package import TransferStore

extension MemoryStore {
  private var hasEphemeralSessions: Bool { !ephemeral.isEmpty }

  /// Where a session's things are.
  private func read<T>(
    of session: SessionID, _ body: (RowReader) throws(StoreError) -> T
  ) throws(StoreError) -> T {
    try ephemeral.contains(session) ? readOwn(body) : readDisk(body)
  }

  /// Of what does not say whose it is.
  private func find<T>(_ body: (RowReader) throws(StoreError) -> T?) throws(StoreError) -> T? {
    if hasEphemeralSessions, let found = try readOwn(body) { return found }
    return try readDisk(body)
  }

  // MARK: Sessions and tasks

  package func sessions() async throws(StoreError) -> [(session: TransferSession, lastIdentifier: Int)] {
    try readDisk { $0.sessions() }.map { ($0.session, $0.lastIdentifier) }
  }

  package func task(_ id: TaskID) async throws(StoreError) -> TransferTask? {
    try find { reader throws(StoreError) in try reader.task(id) }
  }

  package func tasks(_ query: TaskQuery) async throws(StoreError) -> [TransferTask] {
    try read(of: query.session) { $0.tasks(query) }
  }

  package func tasks(_ ids: [TaskID]) async throws(StoreError) -> [TransferTask] {
    try readDisk { $0.tasks(ids) }
  }

  package func unfinishedTasks(after id: TaskID?, limit: Int) async throws(StoreError) -> [TransferTask] {
    try readDisk { $0.tasks($0.rows.unfinished.keys(after: id), limit: limit) }
  }

  package func smallBody(of id: TaskID) async throws(StoreError) -> [UInt8]? {
    try find { $0.rows.tasks[id]?.smallBody }
  }

  package func metrics(of id: TaskID) async throws(StoreError) -> [UInt8]? {
    try find { reader throws(StoreError) in try reader.metrics(of: id) }
  }

  package func bodyFiles(of session: SessionID) async throws(StoreError) -> [TaskID] {
    try read(of: session) { reader in
      reader.rows.tasksOfSession[session].filter { reader.rows.tasks[$0]?.hasBodyFile == true }
    }
  }

  package func hasTasks(_ session: SessionID) async throws(StoreError) -> Bool {
    try read(of: session) {
      !$0.rows.tasksOfSession[session].isEmpty || !$0.rows.journalOfSession[session].isEmpty
    }
  }

  package func hasBodyFile(_ id: TaskID) async throws(StoreError) -> Bool {
    try find { $0.rows.tasks[id]?.hasBodyFile } ?? false
  }

  package func bodyFiles(among ids: [TaskID]) async throws(StoreError) -> Set<TaskID> {
    try readDisk { reader in Set(ids.filter { reader.rows.tasks[$0]?.hasBodyFile == true }) }
  }

  package func hasPendingDelivery(_ task: TaskID) async throws(StoreError) -> Bool {
    try find { $0.rows.pendingOfTask[task] == nil ? nil : true } ?? false
  }

  // MARK: Decisions

  package func decision(_ id: DecisionID) async throws(StoreError) -> Decision? {
    try find { reader throws(StoreError) in try reader.decision(id) }
  }

  package func decisions(
    of session: SessionID, state: Decision.State?, after: DecisionID?, limit: Int
  ) async throws(StoreError) -> [Decision] {
    try read(of: session) { $0.decisions(of: session, state, after: after, limit: limit) }
  }

  // MARK: What sessions keep

  package func credentials() async throws(StoreError) -> [StoredCredential] {
    try readDisk { $0.credentials() }
  }

  package func cookies() async throws(StoreError) -> [(session: SessionID, cookie: Cookie)] {
    try readDisk { $0.cookies() }.map { ($0.session, $0.cookie) }
  }

  package func configuration(_ name: ConfigurationName) async throws(StoreError) -> NamedConfiguration? {
    try readDisk { reader throws(StoreError) in try reader.configuration(name) }
  }

  package func configurations(
    of tenant: Tenant, after: String?, limit: Int
  ) async throws(StoreError) -> [NamedConfiguration] {
    try readDisk { $0.configurations(of: tenant, after: after, limit: limit) }
  }

  package func file(_ id: FileID) async throws(StoreError) -> StoredFile? {
    try readDisk { reader throws(StoreError) in try reader.file(id) }
  }

  package func files(
    of tenant: Tenant, after: FileID?, limit: Int
  ) async throws(StoreError) -> [StoredFile] {
    try readDisk { $0.files(of: tenant, after: after, limit: limit) }
  }

  package func idempotentReply(_ key: IdempotencyKey) async throws(StoreError) -> IdempotentReply? {
    try find { reader throws(StoreError) in try reader.reply(key) }
  }

  // MARK: The journal

  package func journal(
    _ scope: EventScope, after sequence: Int64, maximumBytes: Int
  ) async throws(StoreError) -> JournalPage {
    var page = try readDisk { $0.journal(scope, after: sequence, maximumBytes: maximumBytes) }
    guard hasEphemeralSessions else {
      page.oldest = min(page.oldest, page.coveredSequence + 1)
      return page
    }
    let own = try readOwn { $0.journal(scope, after: sequence, maximumBytes: maximumBytes) }
    return .joined(page, own, known: max(lastSequence, sequence))
  }

  package func oldestEvents(limit: Int) async throws(StoreError) -> [AgedEvents] {
    var pages = [try readDisk { $0.oldestEvents(limit: limit) }]
    if hasEphemeralSessions { pages.append(try readOwn { $0.oldestEvents(limit: limit) }) }
    return .joined(pages, limit: limit, known: lastSequence)
  }

  // MARK: Between the processes

  package func commands(
    after number: Int64, limit: Int
  ) async throws(StoreError) -> [Queued<StoredCommand>] {
    try readDisk { $0.commands(after: number, limit: limit) }
  }

  package func news(after number: Int64, limit: Int) async throws(StoreError) -> [Queued<String>] {
    try readDisk { $0.news(after: number, limit: limit) }
  }

  package func lastNews() async throws(StoreError) -> Int64? { try readDisk { $0.rows.news.keys.last } }

  package func work() async throws(StoreError) -> [StoredWork] { try readDisk { $0.work() } }

  package func work(after task: TaskID?, limit: Int) async throws(StoreError) -> [StoredWork] {
    try readDisk { $0.work(after: task, limit: limit) }
  }

  // MARK: What there is to take away

  package func finishedTasks(
    _ query: FinishedTaskQuery, limit: Int
  ) async throws(StoreError) -> [FinishedTask] {
    let durable = try readDisk { $0.finishedTasks(query, limit: limit) }
    // What is in memory has a limit of its own.
    if case .keeping = query { return durable }
    return hasEphemeralSessions ? durable + (try readOwn { $0.finishedTasks(query, limit: limit) }) : durable
  }

  package func keptBytes() async throws(StoreError) -> Int64 { try readDisk { $0.keptBytes() } }

  package func staleRecords(
    _ ages: StaleRecords.Ages, limit: Int
  ) async throws(StoreError) -> StaleRecords {
    var stale = try readDisk { $0.staleRecords(ages, limit: limit) }
    guard hasEphemeralSessions else { return stale }
    let own = try readOwn { $0.staleRecords(ages, limit: limit) }
    stale.deliveries += own.deliveries
    stale.decisions += own.decisions
    stale.replies += own.replies
    return stale
  }

  // MARK: Messages

  package func dueDeliveries(at time: Timestamp, limit: Int) async throws(StoreError) -> [WebhookDelivery] {
    let durable = try readDisk { $0.dueDeliveries(at: time, limit: limit) }
    guard hasEphemeralSessions else { return durable }
    let all = durable + (try readOwn { $0.dueDeliveries(at: time, limit: limit) })
    return Array(all.sorted { $0.nextAttemptAt < $1.nextAttemptAt }.prefix(limit))
  }

  package func pendingBackgroundDeliveries() async throws(StoreError) -> [PendingDelivery] {
    try readDisk { $0.pendingBackgroundDeliveries() }
  }

  package func nextDeliveryTime() async throws(StoreError) -> Timestamp? {
    let times = [
      try readDisk { $0.nextDeliveryTime() },
      hasEphemeralSessions ? try readOwn { $0.nextDeliveryTime() } : nil,
    ]
    return times.compactMap { $0 }.min()
  }
}

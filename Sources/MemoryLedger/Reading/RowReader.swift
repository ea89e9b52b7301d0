internal import HTTPCookies
internal import JSON
package import Ledger
package import TransferModel

/// A reader that reports unreadable rows. Lists omit an unreadable row; a read by id throws its error.
package struct RowReader {
  package let rows: MemoryRows
  let unreadable: UnreadableRows

  package init(_ rows: MemoryRows, _ unreadable: UnreadableRows) {
    self.rows = rows
    self.unreadable = unreadable
  }

  /// Returns the row with the id.
  /// - Throws: the row's error if the row is unreadable.
  func one<Row>(
    _ row: Row?, _ kind: RecordKind, _ id: @autoclosure () -> String
  ) throws(LedgerError) -> Row? {
    guard let row else { return nil }
    guard let fault = fault(kind, id()) else { return row }
    throw .unreadable(fault)
  }

  /// Returns the first `limit` readable rows.
  func all<Row>(
    _ found: some Sequence<Row>, _ kind: RecordKind, limit: Int = .max, _ id: (Row) -> String
  ) -> [Row] {
    guard !rows.damage.isEmpty else { return Array(found.prefix(max(0, limit))) }
    var whole: [Row] = []
    for row in found {
      if whole.count >= limit { break }
      if fault(kind, id(row)) == nil { whole.append(row) }
    }
    return whole
  }

  private func fault(_ kind: RecordKind, _ id: @autoclosure () -> String) -> UnreadableRow? {
    guard !rows.damage.isEmpty, let fault = rows.damage[MemoryRows.RowName(kind: kind, id: id())] else {
      return nil
    }
    unreadable.add(fault)
    return fault
  }

  package func journal(_ scope: EventScope, after sequence: Int64, maximumBytes: Int) -> JournalPage {
    JournalRows(reader: self).journal(scope, after: sequence, maximumBytes: maximumBytes)
  }

  // MARK: Sessions and tasks

  func sessions() -> [MemoryRows.SessionRow] {
    all(rows.sessions.all().lazy.map(\.row), .session) { $0.session.id.description }
  }

  func session(_ id: SessionID) throws(LedgerError) -> TransferSession? {
    try one(rows.sessions[id]?.session, .session, id.description)
  }

  func task(_ id: TaskID) throws(LedgerError) -> TransferTask? {
    try one(rows.tasks[id]?.task, .task, id.description)
  }

  func tasks(_ query: TaskQuery) -> [TransferTask] {
    let ids: [TaskID] =
      switch query.scope {
      case .session(let session):
        rows.tasksOfSession[session].all(in: query.order, after: query.after).map(\.key)
      case .tenant: rows.tasks.all(in: query.order, after: query.after).map(\.key)
      }
    let found = ids.lazy.filter { $0 <= query.last ?? $0 }.compactMap { rows.tasks[$0] }.filter {
      isWanted($0, query)
    }.map(\.task)
    return all(found, .task, limit: query.limit) { $0.id.description }
  }

  private func isWanted(_ row: MemoryRows.TaskRow, _ query: TaskQuery) -> Bool {
    if case .tenant(let tenant) = query.scope,
      rows.sessions[row.task.sessionID]?.session.tenant != tenant
    {
      return false
    }
    return query.filter.matchesColumns(of: row.task, isUntouched: row.isUntouched)
  }

  func tasks(_ ids: some Sequence<TaskID>, limit: Int = .max) -> [TransferTask] {
    all(ids.lazy.compactMap { rows.tasks[$0]?.task }, .task, limit: limit) { $0.id.description }
  }

  func metrics(of id: TaskID) throws(LedgerError) -> [UInt8]? {
    try one(rows.tasks[id]?.metrics, .task, id.description)?.json
  }

  // MARK: Decisions

  func decision(_ id: DecisionID) throws(LedgerError) -> Decision? {
    try one(rows.decisions[id], .decision, id.description)
  }

  func decisions(
    of session: SessionID, _ state: Decision.State?, after: DecisionID?, _ order: ListOrder, limit: Int
  ) -> [Decision] {
    let ids = rows.decisionsOfSession[session].all(in: order, after: after).lazy.map(\.key)
    let found = ids.compactMap { rows.decisions[$0] }.filter { state == nil || $0.state == state }
    return all(found, .decision, limit: limit) { $0.id.description }
  }

  // MARK: Session data

  func sessionsWithStorage() -> [SessionID] {
    Set(rows.credentials.all().map(\.key.session) + rows.cookies.all().map(\.row.session)).sorted()
  }

  func storage(of session: SessionID) -> SessionStorageRows {
    let credentials = rows.credentials.all().filter { $0.key.session == session }
    let cookies = rows.cookies.all().lazy.map(\.row).filter { $0.session == session }
    return (
      all(cookies, .cookie) { "\($0.session) \($0.cookie.key.isHostOnly ? "" : ".")\($0.cookie.domain)" }
        .map(\.cookie),
      all(credentials, .credential) { "\($0.key.session) \($0.key.space)" }.map(\.row)
    )
  }

  func configuration(_ name: ConfigurationName) throws(LedgerError) -> NamedConfiguration? {
    try one(rows.configurations[.init(name: name)], .configuration, name.text)
  }

  func configurations(
    of tenant: Tenant, after: ConfigurationCursor?, _ order: ListOrder?, limit: Int
  ) -> [NamedConfiguration] {
    let found = rows.configurations.all().map(\.row).filter { named in
      named.name.tenant == tenant && after.map { $0.precedes(named.place, in: order) } ?? true
    }.sorted { $0.place.precedes($1.place, in: order) }
    return all(found, .configuration, limit: limit) { $0.name.text }
  }

  func file(_ id: FileID) throws(LedgerError) -> StoredFile? {
    try one(rows.files[id], .file, id.description)
  }

  func files(of tenant: Tenant, after id: FileID?, _ order: ListOrder, limit: Int) -> [StoredFile] {
    let found = rows.files.all(in: order, after: id).lazy.map(\.row).filter { $0.tenant == tenant }
    return all(found, .file, limit: limit) { $0.id.description }
  }

  package func reply(_ key: IdempotencyKey) throws(LedgerError) -> IdempotentReply? {
    try one(rows.replies[key]?.reply, .idempotency, key.text)
  }

  // MARK: Queues

  /// Returns the commands with numbers above `number`. Damaged commands are not omitted, because the durable ledger returns them as well,
  /// with an empty document.
  func commands(after number: Int64, limit: Int) -> [QueueRow<StoredCommand>] {
    rows.commands.all(after: number).prefix(limit).map { QueueRow(number: $0.key, content: $0.row) }
  }

  func news(after number: Int64, limit: Int) -> [QueueRow<String>] {
    rows.news.all(after: number).prefix(limit).map { QueueRow(number: $0.key, content: $0.row.document) }
  }

  package func work(after task: TaskID? = nil, limit: Int = .max) -> [StoredWork] {
    all(rows.work.all(after: task).lazy.map(\.row), .work, limit: limit) { $0.task.description }
  }

  // MARK: Deliveries

  /// - Parameter owner: the epoch that owns the deliveries' sessions, or `nil` for the deliveries of all sessions.
  func dueDeliveries(_ query: DueDeliveryQuery, of owner: Epoch?) -> DueDeliveries {
    let ready = rows.deliveries.ready(for: query.destination).lazy.filter {
      isOwn($0.sessionID, owner) && !query.excluded.contains($0.id)
    }
    // A small correction of the clock does not make a delivery due.
    let future = query.time.adding(seconds: 60)
    let due = ready.filter {
      $0.nextAttemptAt <= query.time || query.includesFutureAttempts && $0.lastAttemptAt > future
    }
    let found = all(due, .delivery, limit: query.limit == .max ? .max : query.limit + 1) { $0.id.description }
    let kept = Array(found.prefix(query.limit))
    let ids = Set(kept.map(\.id))
    let later = ready.first { $0.nextAttemptAt > query.time && !ids.contains($0.id) }
    return DueDeliveries(kept, isLast: found.count <= query.limit, nextAttemptAt: later?.nextAttemptAt)
  }

  func delivery(_ id: DeliveryID) throws(LedgerError) -> WebhookDelivery? {
    try one(rows.deliveries[id], .delivery, id.description)
  }

  func deliveries(_ query: DeliveryQuery) -> [WebhookDelivery] {
    let found = rows.deliveries.all(in: query.order, after: query.after).lazy.filter {
      $0.tenant == query.tenant && (query.endpoint == nil || query.endpoint == $0.endpointID)
        && (query.task == nil || query.task == $0.taskID) && (query.state == nil || query.state == $0.state)
        && $0.createdAt >= query.since ?? $0.createdAt
    }
    return all(found, .delivery, limit: query.limit) { $0.id.description }
  }

  func endpoints() -> [WebhookEndpoint] {
    all(rows.endpoints.all().lazy.map(\.row), .endpoint) { $0.id.description }
  }

  func pendingBackgroundDeliveries() -> [PendingDelivery] {
    let found = rows.deliveries.pendingAsWritten.lazy
      .filter { rows.sessions[$0.sessionID]?.session.type == .background }
    return all(found, .delivery) { $0.id.description }
      .map { PendingDelivery(id: $0.id, sessionID: $0.sessionID, type: $0.type) }
  }

  private func isOwn(_ session: SessionID, _ owner: Epoch?) -> Bool {
    owner == nil || rows.ownership.owner(of: session.shard) == owner
  }
}

extension NamedConfiguration {
  fileprivate var place: ConfigurationCursor { ConfigurationCursor(name: name.text, createdAt: createdAt) }
}

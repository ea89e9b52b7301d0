internal import GRDBSQLite
internal import JSON
internal import TransferModel

/// Turns changes into rows. On the store's thread, inside its transaction.
struct ChangeWriter {
  private let statements: Statements

  init(_ connection: OpaquePointer) throws { statements = try Statements(connection) }
  func finalize() { statements.all.forEach { $0.finalize() } }

  func begin() throws { try statements.begin.run() }
  func commit() throws { try statements.commit.run() }
  func rollback() { _ = try? statements.rollback.run() }

  /// Writes one change; events get the next sequence numbers and join `fragments`.
  func write(_ change: StoreChange, _ sequence: inout Int64, _ fragments: inout [JournalFragment]) throws {
    for session in change.sessions { try write(session) }
    for task in change.createdTasks { try create(task) }
    for (session, identifier) in change.lastIdentifiers {
      try statements.setLastIdentifier.run(.integer(Int64(identifier)), .id(session))
    }
    for task in change.updatedTasks { try update(task, smallBody: change.smallBodies[task.id]) }
    try write(change.events, &sequence, &fragments)
    for delivery in change.newDeliveries { try insert(delivery) }
    for delivery in change.updatedDeliveries { try update(delivery) }
    if let reply = change.idempotentReply { try insert(reply) }
    if let session = change.deletedSession { try delete(session) }
  }

  private func write(_ session: TransferSession) throws {
    try statements.upsertSession.run(
      .id(session.id), .integer(session.createdAt.microseconds), .string(session.state.rawValue),
      .text(session.document))
  }

  private func create(_ task: TransferTask) throws {
    try statements.insertTask.run(
      .id(task.id), .id(task.sessionID), .integer(Int64(task.taskIdentifier)), .string(task.kind.rawValue),
      .string(task.state.rawValue), .integer(Int64(task.lifecycle.suspendCount)),
      .integer(task.createdAt.microseconds), .text(task.specificationDocument),
      task.originalRequest.body.map { .blob($0) } ?? .null)
  }

  private func update(_ task: TransferTask, smallBody: [UInt8]?) throws {
    let hasFile = task.body != nil && smallBody == nil
    try statements.updateTask.run(
      .string(task.state.rawValue), .integer(Int64(task.lifecycle.suspendCount)), .text(task.outcomeDocument),
      task.metrics.map { .text($0.json) } ?? .null, .integer(hasFile ? 1 : 0),
      smallBody.map { .blob($0) } ?? .null, .id(task.id))
  }

  /// Consecutive events of one task share a row: it holds the stream's own text.
  private func write(
    _ events: [TransferEvent], _ sequence: inout Int64, _ fragments: inout [JournalFragment]
  ) throws {
    var start = 0
    while start < events.count {
      let head = events[start]
      var writer = ServerSentEventWriter()
      let first = sequence + 1
      var end = start
      while end < events.count, events[end].taskID == head.taskID, events[end].sessionID == head.sessionID {
        sequence += 1
        writer.append(event: events[end], sequence: sequence)
        end += 1
      }
      try statements.insertFragment.run(
        .integer(first), .integer(sequence), .id(head.sessionID), head.taskID.map { .id($0) } ?? .null,
        .text(writer.bytes))
      fragments.append(
        JournalFragment(
          first: first, last: sequence, sessionID: head.sessionID, taskID: head.taskID, bytes: writer.bytes,
          endsTask: events[end - 1].type == .taskDidComplete))
      start = end
    }
  }

  private func insert(_ delivery: WebhookDelivery) throws {
    try statements.insertDelivery.run(
      .id(delivery.id), .id(delivery.sessionID), delivery.taskID.map { .id($0) } ?? .null,
      .string(delivery.type.rawValue), .string(delivery.webhook.url),
      delivery.webhook.secret.map { .string($0) } ?? .null, .blob(delivery.payload),
      .integer(delivery.createdAt.microseconds), .string(delivery.state.rawValue),
      .integer(Int64(delivery.attempts)), .integer(delivery.nextAttemptAt.microseconds))
  }

  private func update(_ delivery: WebhookDelivery) throws {
    try statements.updateDelivery.run(
      .string(delivery.state.rawValue), .integer(Int64(delivery.attempts)),
      .integer(delivery.nextAttemptAt.microseconds), delivery.lastStatus.map { .integer(Int64($0)) } ?? .null,
      delivery.lastError.map { .string($0) } ?? .null, .id(delivery.id))
  }

  private func insert(_ reply: IdempotentReply) throws {
    let oldest = reply.createdAt.adding(seconds: -IdempotentReply.retention)
    try statements.expireReplies.run(.integer(oldest.microseconds))
    try statements.insertReply.run(
      .string(reply.key), .blob(reply.fingerprint), .integer(Int64(reply.status)), .string(reply.contentType),
      reply.location.map { .string($0) } ?? .null, .blob(reply.body), .integer(reply.createdAt.microseconds))
  }

  private func delete(_ session: SessionID) throws {
    try statements.deleteJournal.run(.id(session))
    try statements.deleteTasks.run(.id(session))
    try statements.deleteSession.run(.id(session))
  }
}

extension WriteStatement.Value {
  static func id<Kind>(_ id: ID<Kind>) -> Self { .id(high: id.high, low: id.low) }
}

/// Every statement of the write path.
private struct Statements {
  let begin, commit, rollback, upsertSession, setLastIdentifier, insertTask, updateTask,
    insertFragment: WriteStatement
  let insertDelivery, updateDelivery, insertReply, expireReplies: WriteStatement
  let deleteJournal, deleteTasks, deleteSession: WriteStatement
  let all: [WriteStatement]

  init(_ connection: OpaquePointer) throws {
    var all: [WriteStatement] = []
    func prepare(_ sql: String) throws -> WriteStatement {
      let statement = try WriteStatement(connection, sql)
      all.append(statement)
      return statement
    }
    begin = try prepare("BEGIN IMMEDIATE")
    commit = try prepare("COMMIT")
    rollback = try prepare("ROLLBACK")
    upsertSession = try prepare(
      """
      INSERT INTO session (id, created, state, document) VALUES (?, ?, ?, ?)
      ON CONFLICT (id) DO UPDATE SET state = excluded.state
      """)
    setLastIdentifier = try prepare(
      "UPDATE session SET last_identifier = max(last_identifier, ?) WHERE id = ?")
    insertTask = try prepare(
      """
      INSERT INTO task (id, session, identifier, kind, state, suspend_count, created, specification, request_body)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
      """)
    updateTask = try prepare(
      """
      UPDATE task SET state = ?, suspend_count = ?, outcome = ?, metrics = coalesce(?, metrics),
        has_body_file = ?, small_body = ?
      WHERE id = ?
      """)
    insertFragment = try prepare(
      "INSERT INTO journal (first, last, session, task, stream) VALUES (?, ?, ?, ?, ?)")
    insertDelivery = try prepare(
      """
      INSERT INTO delivery
        (id, session, task, type, url, secret, payload, created, state, attempts, next_attempt)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """)
    updateDelivery = try prepare(
      """
      UPDATE delivery SET state = ?, attempts = ?, next_attempt = ?, last_status = ?, last_error = ? WHERE id = ?
      """)
    insertReply = try prepare(
      """
      INSERT OR REPLACE INTO idempotency (key, fingerprint, status, content_type, location, body, created)
      VALUES (?, ?, ?, ?, ?, ?, ?)
      """)
    expireReplies = try prepare("DELETE FROM idempotency WHERE created < ?")
    deleteJournal = try prepare("DELETE FROM journal WHERE session = ?")
    deleteTasks = try prepare("DELETE FROM task WHERE session = ?")
    deleteSession = try prepare("DELETE FROM session WHERE id = ?")
    self.all = all
  }
}

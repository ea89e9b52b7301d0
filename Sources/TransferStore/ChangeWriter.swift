internal import GRDBSQLite
internal import HTTPCookies
internal import JSON
internal import TransferModel

/// Turns changes into rows. On the store's thread, inside its transaction.
struct ChangeWriter {
  private let statements: Statements
  private let pruning: PruningWriter
  private let sessions: SessionDeletionWriter
  private let box: SecretBox

  init(_ connection: OpaquePointer, _ box: SecretBox) throws {
    statements = try Statements(connection)
    pruning = try PruningWriter(connection)
    sessions = try SessionDeletionWriter(connection)
    self.box = box
  }
  func finalize() {
    statements.all.forEach { $0.finalize() }
    pruning.finalize()
    sessions.finalize()
  }

  func begin() throws { try statements.begin.run() }
  func commit() throws { try statements.commit.run() }
  func rollback() { _ = try? statements.rollback.run() }

  /// Writes one change.
  /// - Parameter fragments: its events, numbered.
  func write(_ change: StoreChange, _ fragments: [JournalFragment]) throws {
    for session in change.sessions { try write(session) }
    for task in change.createdTasks { try create(task) }
    for (session, identifier) in change.lastIdentifiers {
      try statements.setLastIdentifier.run(.integer(Int64(identifier)), .id(session))
    }
    for task in change.updatedTasks { try update(task, smallBody: change.smallBodies[task.id]) }
    try write(fragments)
    for task in change.respecifiedTasks { try respecify(task) }
    for decision in change.newDecisions { try insert(decision) }
    for decision in change.settledDecisions { try settle(decision) }
    if change.withdrawsDecisions { try statements.withdrawDecisions.run() }
    for credential in change.credentials { try keep(credential) }
    for (session, space) in change.deletedCredentials {
      try statements.deleteCredential.run(.id(session), .string(StoredCredential.key(space)))
    }
    for (session, cookie) in change.cookies { try write(cookie, of: session) }
    for configuration in change.configurations { try keep(configuration) }
    for name in change.deletedConfigurations {
      try statements.deleteConfiguration.run(.string(name.tenant.name), .string(name.text))
    }
    for file in change.newFiles { try insert(file) }
    for file in change.deletedFiles { try statements.deleteFile.run(.id(file)) }
    for delivery in change.newDeliveries { try insert(delivery) }
    for delivery in change.updatedDeliveries { try update(delivery) }
    if let reply = change.idempotentReply { try insert(reply, of: change.repliedSession) }
    try writeWork(of: change)
    if let session = change.wipedSession {
      try statements.wipeSession.run(.id(session))
      try statements.wipeReplies.run(.id(session))
    }
    if let session = change.thinnedSession { try sessions.thin(session) }
    if let session = change.deletedSession { try sessions.delete(session) }
    if let pruned = change.pruning { try pruning.write(pruned) }
  }

  private func write(_ session: TransferSession) throws {
    try statements.upsertSession.run(
      .id(session.id), .integer(session.createdAt.microseconds), .string(session.state.rawValue),
      sealed(session.document, .session), .string(session.type.rawValue), .string(session.tenant.name))
  }

  private func sealed(_ document: [UInt8], _ kind: DocumentKind) -> WriteStatement.Value {
    .blob(box.seal(document, as: kind))
  }

  private func create(_ task: TransferTask) throws {
    try statements.insertTask.run(
      .id(task.id), .id(task.sessionID), .integer(Int64(task.taskIdentifier)), .string(task.kind.rawValue),
      .string(task.state.rawValue), .integer(Int64(task.lifecycle.suspendCount)),
      .integer(task.createdAt.microseconds), sealed(task.specificationDocument, .specification),
      task.originalRequest.body?.data.map { sealed($0, .requestBody) } ?? .null)
  }

  private func respecify(_ task: TransferTask) throws {
    try statements.respecifyTask.run(sealed(task.specificationDocument, .specification), .id(task.id))
  }

  private func insert(_ decision: Decision) throws {
    try statements.insertDecision.run(
      .id(decision.id), .id(decision.sessionID), .id(decision.taskID), .string(decision.type.rawValue),
      .string(decision.state.rawValue), .integer(decision.createdAt.microseconds),
      .integer(decision.expiresAt.microseconds), .string(decision.defaultAnswer),
      sealed(decision.arguments, .arguments), decision.question.map { .integer(Int64($0)) } ?? .null)
  }

  private func settle(_ decision: SettledDecision) throws {
    try statements.updateDecision.run(
      .string(decision.state.rawValue), decision.answer.map { sealed($0, .answer) } ?? .null,
      decision.answerTag.map { .blob($0) } ?? .null, .id(decision.id))
  }

  private func keep(_ stored: StoredCredential) throws {
    try statements.upsertCredential.run(
      .id(stored.session), .string(StoredCredential.key(stored.space)), .string(box.seal(stored.document)))
  }

  private func write(_ change: CookieJar.Change, of session: SessionID) throws {
    switch change {
    case .stored(let cookie):
      try statements.upsertCookie.run(
        .id(session), .string(cookie.key.stored), .string(box.seal(cookie.document(of: session))))
    case .removed(let key): try statements.deleteCookie.run(.id(session), .string(key.stored))
    }
  }

  private func keep(_ named: NamedConfiguration) throws {
    try statements.upsertConfiguration.run(
      .string(named.name.tenant.name), .string(named.name.text), sealed(named.document, .configuration),
      .integer(named.createdAt.microseconds),
      .integer(named.updatedAt.microseconds))
  }

  private func writeWork(of change: StoreChange) throws {
    for command in change.commands {
      try statements.insertCommand.run(.id(command.session), .string(box.seal(command.document)))
    }
    for taken in change.takenCommands {
      try statements.deleteCommands.run(.integer(taken.lowerBound), .integer(taken.upperBound))
    }
    for work in change.work {
      try statements.upsertWork.run(.id(work.task), .id(work.session), .string(box.seal(work.document)))
    }
    for task in change.finishedWork { try statements.deleteWork.run(.id(task)) }
    for news in change.news { try statements.insertNews.run(.string(box.seal(news))) }
    for taken in change.takenNews {
      try statements.deleteNews.run(.integer(taken.lowerBound), .integer(taken.upperBound))
    }
  }

  /// Numbers up to `last` are taken, whoever saw them.
  func reserve(_ last: Int64) throws { try statements.reserve.run(.integer(last)) }

  private func insert(_ file: StoredFile) throws {
    try statements.insertFile.run(
      .id(file.id), .string(file.tenant.name), .integer(file.createdAt.microseconds), .integer(file.size),
      .string(file.sha256),
      file.contentType.map { .string($0) } ?? .null, file.fromTask.map { .id($0) } ?? .null)
  }

  private func update(_ task: TransferTask, smallBody: [UInt8]?) throws {
    let hasFile = task.body != nil && smallBody == nil
    try statements.updateTask.run(
      .string(task.state.rawValue), .integer(Int64(task.lifecycle.suspendCount)),
      sealed(task.outcomeDocument, .outcome),
      task.metrics.map { sealed($0.json, .metrics) } ?? .null, .integer(hasFile ? 1 : 0),
      smallBody.map { .blob($0) } ?? .null,
      task.state == .completed ? .integer((task.completedAt ?? task.createdAt).microseconds) : .null,
      task.keptUntil.map { .integer($0.microseconds) } ?? .null,
      task.keptUntil == nil ? .null : .integer(task.keptBytes), .id(task.id))
  }

  /// Consecutive events of one task share a row: it holds the stream's own text.
  private func write(_ fragments: [JournalFragment]) throws {
    for fragment in fragments where !fragment.isProgressOnly {
      try statements.insertFragment.run(
        .integer(fragment.first), .integer(fragment.last),
        fragment.tenant.map { .string($0.name) } ?? .null, .id(fragment.sessionID),
        fragment.taskID.map { .id($0) } ?? .null, .integer(fragment.time?.microseconds ?? 0),
        sealed(fragment.bytes, .stream))
    }
  }

  private func insert(_ delivery: WebhookDelivery) throws {
    try statements.insertDelivery.run(
      .id(delivery.id), .id(delivery.sessionID), delivery.taskID.map { .id($0) } ?? .null,
      .string(delivery.type.rawValue), .string(delivery.webhook.url),
      delivery.webhook.secret.map { .string(box.seal($0)) } ?? .null, sealed(delivery.payload, .payload),
      .integer(delivery.createdAt.microseconds), .string(delivery.state.rawValue),
      .integer(Int64(delivery.attempts)), .integer(delivery.lastAttemptAt.microseconds),
      .integer(delivery.nextAttemptAt.microseconds), delivery.decisionID.map { .id($0) } ?? .null)
  }

  private func update(_ delivery: WebhookDelivery) throws {
    try statements.updateDelivery.run(
      .string(delivery.state.rawValue), .integer(Int64(delivery.attempts)),
      .integer(delivery.lastAttemptAt.microseconds), .integer(delivery.nextAttemptAt.microseconds),
      delivery.lastStatus.map { .integer(Int64($0)) } ?? .null,
      delivery.lastError.map { .string($0) } ?? .null,
      delivery.finishedAt.map { .integer($0.microseconds) } ?? .null, .id(delivery.id))
  }

  private func insert(_ reply: IdempotentReply, of session: SessionID?) throws {
    let oldest = reply.createdAt.adding(seconds: -IdempotentReply.retention)
    try statements.expireReplies.run(.integer(oldest.microseconds))
    try statements.insertReply.run(
      .string(reply.key.tenant.name), .string(reply.key.text), .blob(reply.fingerprint),
      .integer(Int64(reply.status)), .string(reply.contentType),
      reply.location.map { .string($0) } ?? .null, sealed(reply.body, .reply),
      .integer(reply.createdAt.microseconds),
      session.map { .id($0) } ?? .null)
  }
}

extension WriteStatement.Value {
  static func id<Kind>(_ id: ID<Kind>) -> Self { .id(high: id.high, low: id.low) }
}

/// Every statement of the write path.
private struct Statements {
  let begin, commit, rollback, upsertSession, setLastIdentifier, insertTask, updateTask,
    insertFragment: WriteStatement
  let respecifyTask, insertDecision, updateDecision, withdrawDecisions, insertFile, deleteFile: WriteStatement
  let insertDelivery, updateDelivery, insertReply, expireReplies: WriteStatement
  let upsertCredential, deleteCredential: WriteStatement
  let upsertCookie, deleteCookie: WriteStatement
  let upsertConfiguration, deleteConfiguration, reserve: WriteStatement
  let insertCommand, deleteCommands, upsertWork, deleteWork, insertNews, deleteNews: WriteStatement
  let wipeSession, wipeReplies: WriteStatement
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
      INSERT INTO session (id, created, state, document, type, tenant) VALUES (?, ?, ?, ?, ?, ?)
      ON CONFLICT (id) DO UPDATE SET state = excluded.state, document = excluded.document
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
        has_body_file = ?, small_body = ?, completed = ?, kept_until = ?, kept_bytes = ?
      WHERE id = ?
      """)
    respecifyTask = try prepare("UPDATE task SET specification = ? WHERE id = ?")
    insertDecision = try prepare(
      """
      INSERT INTO decision
        (id, session, task, type, state, created, expires, default_answer, arguments, question)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """)
    updateDecision = try prepare("UPDATE decision SET state = ?, answer = ?, answer_tag = ? WHERE id = ?")
    withdrawDecisions = try prepare(
      """
      UPDATE decision SET state = 'withdrawn' WHERE state = 'pending'
        AND session NOT IN (SELECT id FROM session WHERE type = 'background')
      """)
    upsertCredential = try prepare(
      "INSERT OR REPLACE INTO credential (session, space, sealed) VALUES (?, ?, ?)")
    deleteCredential = try prepare("DELETE FROM credential WHERE session = ? AND space = ?")
    // In its place, as the jar has it: that is the order in which cookies are sent.
    upsertCookie = try prepare(
      "INSERT INTO cookie (session, key, sealed) VALUES (?, ?, ?)"
        + " ON CONFLICT (session, key) DO UPDATE SET sealed = excluded.sealed")
    deleteCookie = try prepare("DELETE FROM cookie WHERE session = ? AND key = ?")
    upsertConfiguration = try prepare(
      """
      INSERT INTO configuration (tenant, name, document, created, updated) VALUES (?, ?, ?, ?, ?)
      ON CONFLICT (tenant, name) DO UPDATE SET document = excluded.document, updated = excluded.updated
      """)
    deleteConfiguration = try prepare("DELETE FROM configuration WHERE tenant = ? AND name = ?")
    reserve = try prepare("INSERT OR REPLACE INTO sequence_reservation (only, last) VALUES (1, ?)")
    insertFile = try prepare(
      "INSERT INTO file (id, tenant, created, size, sha256, content_type, task) VALUES (?, ?, ?, ?, ?, ?, ?)")
    deleteFile = try prepare("DELETE FROM file WHERE id = ?")
    insertFragment = try prepare(
      "INSERT INTO journal (first, last, tenant, session, task, time, stream) VALUES (?, ?, ?, ?, ?, ?, ?)")
    insertDelivery = try prepare(
      """
      INSERT INTO delivery
        (id, session, task, type, url, secret, payload, created, state, attempts, last_attempt, next_attempt, decision)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
      """)
    updateDelivery = try prepare(
      """
      UPDATE delivery SET
        state = ?, attempts = ?, last_attempt = ?, next_attempt = ?, last_status = ?, last_error = ?, finished = ?
      WHERE id = ?
      """)
    insertReply = try prepare(
      """
      INSERT OR REPLACE INTO idempotency
        (tenant, key, fingerprint, status, content_type, location, body, created, session)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
      """)
    expireReplies = try prepare("DELETE FROM idempotency WHERE created < ?")
    insertCommand = try prepare("INSERT INTO command (session, sealed) VALUES (?, ?)")
    deleteCommands = try prepare("DELETE FROM command WHERE number BETWEEN ? AND ?")
    upsertWork = try prepare("INSERT OR REPLACE INTO work (task, session, sealed) VALUES (?, ?, ?)")
    deleteWork = try prepare("DELETE FROM work WHERE task = ?")
    insertNews = try prepare("INSERT INTO news (sealed) VALUES (?)")
    deleteNews = try prepare("DELETE FROM news WHERE number BETWEEN ? AND ?")
    wipeSession = try prepare(
      "UPDATE task SET small_body = NULL, has_body_file = 0, request_body = NULL WHERE session = ?")
    wipeReplies = try prepare("DELETE FROM idempotency WHERE session = ?")
    self.all = all
  }
}

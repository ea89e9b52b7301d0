internal import HTTPCookies
internal import JSON
internal import KeyDerivation
internal import Ledger
internal import Records
internal import TransferModel

/// Turns changes into rows. On the store's thread, inside its transaction.
struct ChangeWriter {
  let statements: WriteStatements
  private let pruning: PruningWriter
  private let sessions: SessionDeletionWriter
  private let box: SecretBox

  init(_ connection: OpaquePointer, _ box: SecretBox) throws {
    statements = try WriteStatements(connection)
    pruning = PruningWriter(statements: statements, names: box.names)
    sessions = SessionDeletionWriter(statements: statements)
    self.box = box
  }
  func finalize() { statements.finalize() }

  func begin() throws { try statements.begin.run() }
  func commit() throws { try statements.commit.run() }
  func rollback() { _ = try? statements.rollback.run() }

  /// Writes one change.
  /// - Parameter fragments: its events, numbered.
  func write(_ change: StoreChange, _ fragments: [JournalFragment]) throws {
    for session in change.sessions { try write(session) }
    for task in change.createdTasks { try create(task) }
    for (session, identifier) in change.lastIdentifiers {
      try statements.sessions.setLastIdentifier.run(.integer(Int64(identifier)), .id(session))
    }
    for task in change.updatedTasks { try update(task, smallBody: change.smallBodies[task.id]) }
    try write(fragments)
    for task in change.respecifiedTasks { try respecify(task) }
    for decision in change.newDecisions { try insert(decision) }
    for decision in change.settledDecisions { try settle(decision) }
    for credential in change.credentials { try keep(credential) }
    for (session, space) in change.deletedCredentials {
      try statements.belongings.deleteCredential.run(
        .id(session), .blob(box.names.name(space, of: session)))
    }
    for (session, cookie) in change.cookies { try write(cookie, of: session) }
    for configuration in change.configurations { try keep(configuration) }
    for name in change.deletedConfigurations {
      try statements.belongings.deleteConfiguration.run(
        .string(name.tenant.name), .blob(box.names.name(name)))
    }
    for file in change.newFiles { try insert(file) }
    for file in change.deletedFiles { try statements.belongings.deleteFile.run(.id(file)) }
    for delivery in change.newDeliveries { try insert(delivery) }
    for delivery in change.updatedDeliveries { try update(delivery) }
    if let reply = change.idempotentReply { try insert(reply, of: change.repliedSession) }
    try writeWork(of: change)
    if let session = change.wipedSession {
      try statements.tasks.wipe.run(.id(session))
      try statements.replies.wipe.run(.id(session))
    }
    if let session = change.thinnedSession { try sessions.thin(session) }
    if let session = change.deletedSession { try sessions.delete(session) }
    if let pruned = change.pruning { try pruning.write(pruned) }
  }

  private func write(_ session: TransferSession) throws {
    try statements.sessions.keep.run(
      .id(session.id), .integer(session.createdAt.microseconds), .string(session.state.rawValue),
      sealed(session.document, .session), .string(session.type.rawValue), .string(session.tenant.name))
  }

  private func sealed(_ document: [UInt8], _ kind: DocumentKind) -> WriteStatement.Value {
    .blob(box.seal(document, as: kind))
  }

  private func sealed(_ record: some Record) -> String {
    box.seal(String(decoding: Document.write(record), as: UTF8.self))
  }

  private func sealed(_ text: String, _ kind: DocumentKind) -> WriteStatement.Value {
    sealed(Array(text.utf8), kind)
  }

  private func create(_ task: TransferTask) throws {
    try statements.tasks.insert.run(
      .id(task.id), .id(task.sessionID), .integer(Int64(task.taskIdentifier)), .string(task.kind.rawValue),
      .string(task.state.rawValue), .integer(Int64(task.lifecycle.suspendCount)),
      .integer(task.createdAt.microseconds), sealed(task.specificationDocument, .specification),
      task.originalRequest.body?.ownBytes.map { sealed($0, .requestBody) } ?? .null)
  }

  private func respecify(_ task: TransferTask) throws {
    try statements.tasks.respecify.run(sealed(task.specificationDocument, .specification), .id(task.id))
  }

  private func insert(_ decision: Decision) throws {
    try statements.decisions.insert.run(
      .id(decision.id), .id(decision.sessionID), .id(decision.taskID), .string(decision.type.rawValue),
      .string(decision.state.rawValue), .integer(decision.createdAt.microseconds),
      .integer(decision.expiresAt.microseconds), .string(decision.defaultAnswer),
      sealed(decision.arguments, .arguments), decision.question.map { .integer(Int64($0)) } ?? .null)
  }

  private func settle(_ decision: SettledDecision) throws {
    try statements.decisions.update.run(
      .string(decision.state.rawValue), decision.answer.map { sealed($0, .answer) } ?? .null,
      decision.answerTag.map { .blob($0) } ?? .null, .id(decision.id))
  }

  private func keep(_ stored: StoredCredential) throws {
    try statements.belongings.keepCredential.run(
      .id(stored.session), .blob(box.names.name(stored.space, of: stored.session)),
      .string(sealed(stored)))
  }

  private func write(_ change: CookieJar.Change, of session: SessionID) throws {
    switch change {
    case .stored(let cookie):
      try statements.belongings.keepCookie.run(
        .id(session), .blob(box.names.name(cookie.key, of: session)),
        .string(sealed(StoredCookie(session: session, cookie: cookie))))
    case .removed(let key):
      try statements.belongings.deleteCookie.run(.id(session), .blob(box.names.name(key, of: session)))
    }
  }

  private func keep(_ named: NamedConfiguration) throws {
    try statements.belongings.keepConfiguration.run(
      .string(named.name.tenant.name), .blob(box.names.name(named.name)),
      sealed(named.name.text, .configurationName),
      sealed(Document.write(named.configuration), .configuration),
      .integer(named.createdAt.microseconds),
      .integer(named.updatedAt.microseconds))
  }

  private func writeWork(of change: StoreChange) throws {
    for command in change.commands {
      try statements.processes.insertCommand.run(.id(command.session), .string(box.seal(command.document)))
    }
    for taken in change.takenCommands {
      try statements.processes.deleteCommands.run(.integer(taken.lowerBound), .integer(taken.upperBound))
    }
    for work in change.work {
      try statements.processes.keepWork.run(
        .id(work.task), .id(work.session), .string(box.seal(work.document)))
    }
    for task in change.finishedWork { try statements.processes.deleteWork.run(.id(task)) }
    for news in change.news { try statements.processes.insertNews.run(.string(box.seal(news))) }
    for taken in change.takenNews {
      try statements.processes.deleteNews.run(.integer(taken.lowerBound), .integer(taken.upperBound))
    }
  }

  /// Numbers up to `last` are taken, whoever saw them.
  func reserve(_ last: Int64) throws { try statements.journal.reserve.run(.integer(1), .integer(last)) }

  private func insert(_ file: StoredFile) throws {
    try statements.belongings.insertFile.run(
      .id(file.id), .string(file.tenant.name), .integer(file.createdAt.microseconds), .integer(file.size),
      .string(file.sha256),
      file.contentType.map { sealed($0, .fileType) } ?? .null, file.fromTask.map { .id($0) } ?? .null)
  }

  private func update(_ task: TransferTask, smallBody: [UInt8]?) throws {
    let hasFile = task.body != nil && smallBody == nil
    try statements.tasks.update.run(
      .string(task.state.rawValue), .integer(Int64(task.lifecycle.suspendCount)),
      sealed(task.outcomeDocument, .outcome),
      task.metrics.map { sealed($0.json, .metrics) } ?? .null, .integer(hasFile ? 1 : 0),
      smallBody.map { sealed($0, .smallBody) } ?? .null,
      task.state == .completed ? .integer((task.completedAt ?? task.createdAt).microseconds) : .null,
      task.keptUntil.map { .integer($0.microseconds) } ?? .null,
      task.keptUntil == nil ? .null : .integer(task.keptBytes), .id(task.id))
  }

  /// Consecutive events of one task share a row: it holds the stream's own text.
  private func write(_ fragments: [JournalFragment]) throws {
    for fragment in fragments where !fragment.isProgressOnly {
      try statements.journal.insert.run(
        .integer(fragment.first), .integer(fragment.last),
        fragment.tenant.map { .string($0.name) } ?? .null, .id(fragment.sessionID),
        fragment.taskID.map { .id($0) } ?? .null, .integer(fragment.time?.microseconds ?? 0),
        sealed(fragment.bytes, .stream))
    }
  }

  private func insert(_ delivery: WebhookDelivery) throws {
    try statements.deliveries.insert.run(
      .id(delivery.id), .id(delivery.sessionID), delivery.taskID.map { .id($0) } ?? .null,
      .string(delivery.type.rawValue), sealed(delivery.webhook?.url ?? "", .deliveryURL),
      delivery.webhook?.secret.map { .string(box.seal($0)) } ?? .null, sealed(delivery.payload, .payload),
      .integer(delivery.createdAt.microseconds), .string(delivery.state.rawValue),
      .integer(Int64(delivery.attempts)), .integer(delivery.lastAttemptAt.microseconds),
      .integer(delivery.nextAttemptAt.microseconds), delivery.decisionID.map { .id($0) } ?? .null)
  }

  private func update(_ delivery: WebhookDelivery) throws {
    try statements.deliveries.update.run(
      .string(delivery.state.rawValue), .integer(Int64(delivery.attempts)),
      .integer(delivery.lastAttemptAt.microseconds), .integer(delivery.nextAttemptAt.microseconds),
      delivery.lastStatus.map { .integer(Int64($0)) } ?? .null,
      delivery.lastError.map { sealed($0, .deliveryError) } ?? .null,
      delivery.finishedAt.map { .integer($0.microseconds) } ?? .null, .id(delivery.id))
  }

  private func insert(_ reply: IdempotentReply, of session: SessionID?) throws {
    let oldest = reply.createdAt.adding(seconds: -IdempotentReply.retention)
    try statements.replies.expire.run(.integer(oldest.microseconds))
    try statements.replies.keep.run(
      .string(reply.key.tenant.name), .blob(box.names.name(reply.key)), sealed(reply.key.text, .replyKey),
      .blob(box.requests.digest(of: reply.digest)),
      .integer(Int64(reply.status)), .string(reply.contentType),
      reply.location.map { sealed($0, .replyLocation) } ?? .null, sealed(reply.body, .reply),
      .integer(reply.createdAt.microseconds),
      session.map { .id($0) } ?? .null)
  }
}

extension WriteStatement.Value {
  static func id<Kind>(_ id: ID<Kind>) -> Self { .id(high: id.high, low: id.low) }
}

internal import HTTPCookies
internal import JSON
internal import Ledger
internal import Records
internal import TransferModel

/// A writer that turns changes into rows, on the writer thread and inside its transaction.
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

  /// - Parameters:
  ///   - fragments: the change's events, with their numbers.
  ///   - tenants: the tenants of the sessions in which the change creates tasks.
  func write(
    _ change: LedgerChange, _ fragments: [JournalFragment], _ tenants: [SessionID: Tenant]
  ) throws {
    for session in change.sessions { try write(session, .session, statements.sessions.keep) }
    for task in change.createdTasks { try insert(task, of: tenants[task.sessionID]) }
    for (group, time) in change.closedGroups {
      try statements.tasks.closeGroup.run(
        .time(time), .string(group.tenant.name), .blob(box.names.name(group: group.name, of: group.tenant)))
    }
    for group in change.completedGroups {
      try write(group, .completedGroup, statements.tasks.completeGroup)
    }
    for (session, identifier) in change.lastIdentifiers {
      try statements.sessions.setLastIdentifier.run(.integer(Int64(identifier)), .id(session))
    }
    for task in change.updatedTasks {
      try write(
        UpdatedTask(task: task, smallBody: change.smallBodies[task.id]), .updatedTask, statements.tasks.update
      )
    }
    try write(fragments)
    for task in change.editedTasks { try write(task, .respecifiedTask, statements.tasks.respecify) }
    for decision in change.newDecisions { try write(decision, .newDecision, statements.decisions.insert) }
    for decision in change.settledDecisions {
      try write(decision, .settledDecision, statements.decisions.update)
    }
    for credential in change.credentials {
      try write(credential, .credential, statements.belongings.keepCredential)
    }
    for (session, space) in change.deletedCredentials {
      try statements.belongings.deleteCredential.run(
        .id(session), .blob(box.names.name(space, of: session)))
    }
    for (session, cookie) in change.cookies { try write(cookie, of: session) }
    for configuration in change.configurations {
      try write(configuration, .configuration, statements.belongings.keepConfiguration)
    }
    for name in change.deletedConfigurations {
      try statements.belongings.deleteConfiguration.run(
        .string(name.tenant.name), .blob(box.names.name(name)))
    }
    for file in change.newFiles { try write(file, .file, statements.belongings.insertFile) }
    for file in change.deletedFiles { try statements.belongings.deleteFile.run(.id(file)) }
    for delivery in change.newDeliveries { try insert(delivery) }
    for delivery in change.updatedDeliveries { try update(delivery) }
    for endpoint in change.endpoints {
      try write(endpoint, .endpoint, statements.belongings.keepEndpoint)
    }
    for endpoint in change.deletedEndpoints { try statements.belongings.deleteEndpoint.run(.id(endpoint)) }
    if let reply = change.idempotentReply { try insert(reply, of: change.repliedSession) }
    try writeWork(of: change)
    if let session = change.sessionOfDeletedBodies {
      try statements.tasks.wipe.run(.id(session))
      try statements.replies.wipe.run(.id(session))
    }
    for task in change.deletedTasks { try delete(task) }
    if let session = change.partlyDeletedSession { try sessions.deleteSlice(session) }
    if let session = change.deletedSession { try sessions.delete(session) }
    if let pruned = change.pruning { try pruning.write(pruned) }
  }

  private func insert(_ task: TransferTask, of tenant: Tenant?) throws {
    let created = CreatedTask(task: task, tenant: tenant)
    try write(created, .createdTask, statements.tasks.insert)
    if let tenant, let name = task.group {
      let group = TaskGroup(TaskGroupKey(tenant: tenant, name: name), createdAt: task.createdAt)
      try write(group, .group, statements.tasks.keepGroup)
    }
    for key in created.labelKeys(box) { try statements.tasks.insertLabel.run(.blob(key), .id(task.id)) }
  }

  /// Deletes an ended task with its decisions and events. Its deliveries stay.
  private func delete(_ task: TaskID) throws {
    guard try statements.tasks.prune.run(.id(task)) > 0 else { return }
    try statements.journal.reserveWritten.run()
    try statements.journal.deleteOfTask.run(.id(task))
    try statements.decisions.deleteOfTask.run(.id(task))
  }

  private func write<Source>(
    _ source: Source, _ form: RowMapping<Source>, _ statement: WriteStatement
  ) throws {
    try statement.run(form.values(of: source, box))
  }

  /// Writes a new delivery. It waits if an earlier message of its task to the same destination is pending.
  private func insert(_ delivery: WebhookDelivery) throws {
    try write(delivery, .newDelivery, statements.deliveries.insert)
    guard let task = delivery.orderedTask else { return }
    try statements.deliveries.queue.run(.id(delivery.id), .id(task), .id(delivery.destination))
  }

  /// Writes the results of attempts. The next message of the task then waits no longer.
  private func update(_ delivery: WebhookDelivery) throws {
    try write(delivery, .updatedDelivery, statements.deliveries.update)
    guard delivery.state != .pending || delivery.place == .unordered else { return }
    try statements.deliveries.promote.run(.id(delivery.id), .time(delivery.promotionTime))
  }

  private func write(_ change: CookieJar.Change, of session: SessionID) throws {
    switch change {
    case .stored(let cookie):
      let stored = StoredCookie(session: session, cookie: cookie)
      try write(stored, .cookie, statements.belongings.keepCookie)
    case .removed(let key):
      try statements.belongings.deleteCookie.run(.id(session), .blob(box.names.name(key, of: session)))
    }
  }

  private func writeWork(of change: LedgerChange) throws {
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
    for news in change.workerReports { try statements.processes.insertNews.run(.string(box.seal(news))) }
    for taken in change.consumedReports {
      try statements.processes.deleteNews.run(.integer(taken.lowerBound), .integer(taken.upperBound))
    }
  }

  /// Records that all numbers up to `last` are reserved.
  func reserve(_ last: Int64) throws { try statements.journal.reserve.run(.integer(1), .integer(last)) }

  /// Writes each fragment as one row, which stores the text of the stream.
  private func write(_ fragments: [JournalFragment]) throws {
    for fragment in fragments where !fragment.isProgressOnly {
      try write(fragment, .fragment, statements.journal.insert)
    }
  }

  private func insert(_ reply: IdempotentReply, of session: SessionID?) throws {
    let oldest = reply.createdAt.adding(seconds: -IdempotentReply.retention)
    try statements.replies.expire.run(.integer(oldest.microseconds))
    try write(SessionReply(reply: reply, session: session), .reply, statements.replies.keep)
  }
}

internal import HTTPCookies
package import Ledger
internal import Records
internal import TransferModel

extension MemoryRows {
  /// Returns the reason why a change cannot be written; `nil` if it can.
  package func error(to change: LedgerChange) -> LedgerError? {
    if let unmet = change.conditions.first(where: { !holds($0) }) { return .conditionFailed(unmet) }
    return clash(with: change).map { .unavailable($0) }
  }

  private func holds(_ condition: ChangeCondition) -> Bool {
    switch condition {
    case .keyAbsent(let key, let oldest):
      replies[key].map { $0.reply.createdAt <= oldest } ?? true
    case .revision(let name, let updatedAt):
      configurations[ConfigurationSortKey(name: name)]?.updatedAt == updatedAt
    case .endpointRevision(let id, let revision): endpoints[id]?.revision == revision
    case .deliveryState(let id, let state, let attempts):
      deliveries[id].map { $0.state == state && $0.attemptCount == attempts } ?? false
    case .unchanged(let task): tasks[task.id]?.task.isSpecified(like: task) == true
    case .groupOpen(let key): groups[key]?.closedAt == nil
    case .groupEnded(let key, let counts):
      groups[key]?.state == .closed && counts.unfinished == 0 && self.counts(of: key) == counts
    }
  }

  /// Returns the reason if the change adds a row that exists already.
  private func clash(with change: LedgerChange) -> String? {
    func clashes<ID: Hashable>(_ ids: [ID], _ isThere: (ID) -> Bool) -> Bool {
      guard !ids.isEmpty else { return false }
      return ids.contains(where: isThere) || ids.count > 1 && Set(ids).count < ids.count
    }
    if clashes(change.createdTasks.map(\.id), { tasks.contains($0) }) { return "a task with this id exists" }
    if clashes(change.newDecisions.map(\.id), { decisions.contains($0) }) {
      return "a decision with this id exists"
    }
    if clashes(change.newFiles.map(\.id), { files.contains($0) }) { return "a file with this id exists" }
    if clashes(change.newDeliveries.map(\.id), { deliveries.has($0) }) {
      return "a message with this id exists"
    }
    return nil
  }

  /// Writes a change. The caller has checked that `error(to:)` returns `nil`.
  /// - Parameter fragments: the change's events, with their numbers.
  package mutating func write(_ change: LedgerChange, _ fragments: [JournalFragment]) {
    version += 1
    for session in change.sessions { write(session) }
    for task in change.createdTasks { create(task) }
    for (key, time) in change.closedGroups where groups[key]?.closedAt == nil {
      groups[key]?.closedAt = time
    }
    for group in change.completedGroups {
      groups[group.key]?.completedAt = group.completedAt
      groups[group.key]?.finalCounts = group.finalCounts
    }
    for (session, identifier) in change.lastIdentifiers {
      sessions.change(session) { $0.lastIdentifier = max($0.lastIdentifier, identifier) }
    }
    for task in change.updatedTasks { update(task, smallBody: change.smallBodies[task.id]) }
    for fragment in fragments where !fragment.isProgressOnly { append(fragment) }
    for task in change.editedTasks { tasks.change(task.id) { $0.task.applyEdits(as: task) } }
    for decision in change.newDecisions {
      decisions.set(decision.asAsked, for: decision.id)
      decisionsOfSession.insert(decision.id, in: decision.sessionID)
      decisionsOfTask.insert(decision.id, in: decision.taskID)
    }
    for decision in change.settledDecisions {
      decisions.change(decision.id) {
        ($0.state, $0.answer, $0.answerTag) = (decision.state, decision.answer, decision.answerTag)
      }
    }
    for stored in change.credentials {
      credentials.set(
        stored, for: CredentialName(session: stored.session, space: StoredCredential.key(stored.space)))
    }
    for (session, space) in change.deletedCredentials {
      credentials.remove(CredentialName(session: session, space: StoredCredential.key(space)))
    }
    for (session, change) in change.cookies { write(change, of: session) }
    for named in change.configurations { keep(named) }
    for name in change.deletedConfigurations { configurations.remove(ConfigurationSortKey(name: name)) }
    for file in change.newFiles { files.set(file, for: file.id) }
    for id in change.deletedFiles { files.remove(id) }
    for delivery in change.newDeliveries { deliveries.insert(delivery) }
    for delivery in change.updatedDeliveries { deliveries.update(delivery) }
    for endpoint in change.endpoints { endpoints.set(endpoint, for: endpoint.id) }
    for id in change.deletedEndpoints { endpoints.remove(id) }
    if let reply = change.idempotentReply { keep(reply, of: change.repliedSession) }
    writeWork(of: change)
    removeRows(of: change)
  }

  private mutating func write(_ session: TransferSession) {
    let last = sessions[session.id]?.lastIdentifier ?? 0
    sessions.set(SessionRow(session, lastIdentifier: last), for: session.id)
  }

  private mutating func create(_ task: TransferTask) {
    tasks.set(TaskRow(task: task.asCreated), for: task.id)
    tasksOfSession.insert(task.id, in: task.sessionID)
    if task.state != .completed { unfinished.insert(task.id) }
    guard let key = groupKey(of: task) else { return }
    tasksOfGroup.insert(task.id, in: key)
    if groups[key] == nil { groups[key] = TaskGroup(key, createdAt: task.createdAt) }
  }

  func groupKey(of task: TransferTask) -> TaskGroupKey? {
    guard let name = task.group, let tenant = sessions[task.sessionID]?.session.tenant else { return nil }
    return TaskGroupKey(tenant: tenant, name: name)
  }

  func counts(ofTenant tenant: Tenant) -> GroupCounts {
    var counts = GroupCounts()
    for (_, row) in tasks.all() where sessions[row.task.sessionID]?.session.tenant == tenant {
      counts.add(1, row.task.state, row.task.outcome, sent: 0, received: 0)
    }
    return counts
  }

  func counts(of key: TaskGroupKey) -> GroupCounts {
    var counts = GroupCounts()
    for task in tasksOfGroup[key].all().compactMap({ tasks[$0.key]?.task }) { counts.add(task) }
    return counts
  }

  private mutating func update(_ task: TransferTask, smallBody: [UInt8]?) {
    changeTask(task.id) { row in
      row.task.update(as: task)
      row.isUntouched = false
      row.metrics = task.metrics ?? row.metrics
      row.hasBodyFile = task.body != nil && smallBody == nil
      row.smallBody = smallBody
      row.completedAt = task.state == .completed ? task.completedAt ?? task.createdAt : nil
      row.keptUntil = task.keptUntil
      row.keptBytes = task.keptUntil == nil ? nil : task.keptBytes
      if row.isPruned { row.task.forgetBody() }
    }
  }

  /// Changes a task's row and updates the indexes.
  mutating func changeTask(_ id: TaskID, _ body: (inout TaskRow) -> Void) {
    guard let before = tasks[id] else { return }
    tasks.change(id, body)
    guard let after = tasks[id] else { return }
    if before.task.state != after.task.state {
      if after.task.state == .completed { unfinished.remove(id) } else { unfinished.insert(id) }
    }
    Self.move(id, from: before.completedAt, to: after.completedAt, in: &ended)
    Self.move(id, from: before.keptUntil, to: after.keptUntil, in: &kept)
  }

  private static func move(
    _ id: TaskID, from before: Timestamp?, to after: Timestamp?, in index: inout SortedKeys<TaskByTime>
  ) {
    guard before != after else { return }
    if let before { index.remove(TaskByTime(time: before, task: id)) }
    if let after { index.insert(TaskByTime(time: after, task: id)) }
  }

  private mutating func append(_ fragment: JournalFragment) {
    let kept = JournalFragment(
      first: fragment.first, last: fragment.last, tenant: fragment.tenant, sessionID: fragment.sessionID,
      taskID: fragment.taskID, tags: fragment.tags, time: fragment.time ?? Timestamp(microseconds: 0),
      bytes: fragment.bytes)
    journal.set(kept, for: kept.first)
    if let tenant = kept.tenant { journalOfTenant.insert(kept.first, in: tenant) }
    journalOfSession.insert(kept.first, in: kept.sessionID)
    if let task = kept.taskID { journalOfTask.insert(kept.first, in: task) }
  }

  private mutating func write(_ change: CookieJar.Change, of session: SessionID) {
    switch change {
    case .stored(let cookie):
      // An updated cookie keeps its place, and with it the order in which cookies are sent.
      let name = CookieName(session: session, key: cookie.key)
      let place = cookiePlaces[name] ?? nextCookie
      nextCookie = max(nextCookie, place + 1)
      cookiePlaces[name] = place
      cookies.set(CookieRow(session: session, cookie: cookie), for: place)
    case .removed(let key):
      guard let place = cookiePlaces.removeValue(forKey: CookieName(session: session, key: key)) else {
        return
      }
      cookies.remove(place)
    }
  }

  private mutating func keep(_ named: NamedConfiguration) {
    let place = ConfigurationSortKey(name: named.name)
    let kept = NamedConfiguration(
      name: named.name, configuration: named.configuration,
      createdAt: configurations[place]?.createdAt ?? named.createdAt, updatedAt: named.updatedAt)
    configurations.set(kept, for: place)
  }

  private mutating func keep(_ reply: IdempotentReply, of session: SessionID?) {
    let oldest = reply.createdAt.adding(seconds: -IdempotentReply.retention)
    while let first = repliesByTime.first?.key, first.time < oldest { removeReply(first.key) }
    removeReply(reply.key)
    replies[reply.key] = ReplyRow(reply: reply, session: session)
    repliesByTime.set(ReplySize(reply), for: ReplyByTime(time: reply.createdAt, key: reply.key))
    if let session { repliesOfSession[session, default: []].insert(reply.key) }
  }

  mutating func removeReply(_ key: IdempotencyKey) {
    guard let gone = replies.removeValue(forKey: key) else { return }
    repliesByTime.remove(ReplyByTime(time: gone.reply.createdAt, key: key))
    guard let session = gone.session else { return }
    repliesOfSession[session]?.remove(key)
    if repliesOfSession[session]?.isEmpty == true { repliesOfSession[session] = nil }
  }

  private mutating func writeWork(of change: LedgerChange) {
    for command in change.commands {
      lastCommand += 1
      commands.set(command, for: lastCommand)
    }
    for taken in change.takenCommands { commands.remove(commands.keys(in: taken)) }
    for kept in change.work { work.set(kept, for: kept.task) }
    for task in change.finishedWork { work.remove(task) }
    for document in change.workerReports {
      lastNews += 1
      news.set(StoredNews(document: document), for: lastNews)
    }
    for taken in change.consumedReports { news.remove(news.keys(in: taken)) }
  }
}

extension SortedTable where Key == Int64 {
  fileprivate func keys(in range: ClosedRange<Int64>) -> [Int64] {
    all(after: range.lowerBound - 1).prefix { $0.key <= range.upperBound }.map(\.key)
  }
}

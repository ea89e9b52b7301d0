internal import HTTPCookies
internal import Ledger
internal import TransferModel

extension MemoryRows {
  /// Deletes sessions, their data, and expired rows.
  mutating func removeRows(of change: LedgerChange) {
    if let session = change.sessionOfDeletedBodies { wipe(session) }
    for task in change.deletedTasks where tasks[task]?.task.state == .completed { remove(task) }
    if let session = change.partlyDeletedSession { remove(session, atMost: LedgerChange.thinningSlice) }
    if let session = change.deletedSession {
      remove(session, atMost: .max)
      credentials.remove(credentials.all().map(\.key).filter { $0.session == session })
      for (place, row) in cookies.all() where row.session == session {
        cookiePlaces[CookieName(session: session, key: row.cookie.key)] = nil
        cookies.remove(place)
      }
      sessions.remove(session)
    }
    if let pruning = change.pruning { prune(pruning) }
  }

  private mutating func remove(_ task: TaskID) {
    // Numbers of deleted events are not assigned again.
    reservedSequence = max(reservedSequence, journal.last?.row.last ?? 0)
    removeEvents(journalOfTask[task].all().map(\.key))
    removeDecisions(decisionsOfTask[task].all().map(\.key))
    removeTasks([task])
  }

  private mutating func wipe(_ session: SessionID) {
    for (id, _) in tasksOfSession[session].all() {
      tasks.change(id) { row in
        (row.smallBody, row.hasBodyFile) = (nil, false)
        row.task.dropRequestBody()
      }
    }
    for key in repliesOfSession[session] ?? [] { removeReply(key) }
  }

  /// Deletes some rows of each table that grows with a session's tasks.
  private mutating func remove(_ session: SessionID, atMost count: Int) {
    // Numbers of deleted events are not assigned again.
    reservedSequence = max(reservedSequence, journal.last?.row.last ?? 0)
    removeEvents(journalOfSession[session].all().prefix(count).map(\.key))
    removeDecisions(decisionsOfSession[session].all().prefix(count).map(\.key))
    deliveries.remove(Array(deliveries.settled(of: session).prefix(count)))
    commands.remove(commands.all().lazy.filter { $0.row.session == session }.prefix(count).map(\.key))
    work.remove(work.all().lazy.filter { $0.row.session == session }.prefix(count).map(\.key))
    removeTasks(tasksOfSession[session].all().prefix(count).map(\.key))
  }

  private mutating func removeTasks(_ ids: [TaskID]) {
    for id in ids {
      changeTask(id) { ($0.completedAt, $0.keptUntil) = (nil, nil) }
      guard let gone = tasks.remove(id) else { continue }
      unfinished.remove(id)
      tasksOfSession.remove(id, from: gone.task.sessionID)
      if let key = groupKey(of: gone.task) { tasksOfGroup.remove(id, from: key) }
    }
  }

  private mutating func removeDecisions(_ ids: [DecisionID]) {
    for id in ids {
      guard let gone = decisions.remove(id) else { continue }
      decisionsOfSession.remove(id, from: gone.sessionID)
      decisionsOfTask.remove(id, from: gone.taskID)
    }
  }

  private mutating func removeEvents(_ firsts: [Int64]) {
    for first in firsts {
      guard let gone = journal.remove(first) else { continue }
      if let tenant = gone.tenant { journalOfTenant.remove(first, from: tenant) }
      journalOfSession.remove(first, from: gone.sessionID)
      if let task = gone.taskID { journalOfTask.remove(first, from: task) }
    }
  }

  private mutating func prune(_ pruning: Pruning) {
    removeTasks(pruning.tasks.filter { tasks[$0]?.task.state == .completed })
    for id in pruning.bodies {
      changeTask(id) { row in
        guard row.task.state == .completed else { return }
        (row.smallBody, row.hasBodyFile, row.keptUntil, row.keptBytes) = (nil, false, nil, nil)
        row.isPruned = true
        row.task.forgetBody()
      }
    }
    if let events = pruning.events {
      let gone = journal.all().prefix { $0.key <= events.through }
      for case (_, let fragment) in gone {
        guard let tenant = fragment.tenant else { continue }
        prunedOfTenant[tenant] = max(prunedOfTenant[tenant] ?? 0, fragment.last)
      }
      removeEvents(gone.map(\.key))
      pruned = pruned.merged(with: events)
    }
    deliveries.remove(pruning.records.deliveries)
    removeDecisions(pruning.records.decisions.filter { decisions[$0].map { $0.state != .pending } ?? false })
    for key in pruning.records.groups where groups[key]?.state != .closed && tasksOfGroup[key].isEmpty {
      groups[key] = nil
    }
    for old in pruning.records.replies where replies[old.key]?.reply.createdAt == old.createdAt {
      removeReply(old.key)
    }
  }
}

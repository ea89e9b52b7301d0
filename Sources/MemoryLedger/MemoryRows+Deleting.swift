internal import HTTPCookies
internal import Ledger
internal import TransferModel

extension MemoryRows {
  /// What a change takes away with whole sessions, and because of its age.
  mutating func takeAway(_ change: StoreChange) {
    if let session = change.wipedSession { wipe(session) }
    if let session = change.thinnedSession { remove(session, atMost: StoreChange.thinningSlice) }
    if let session = change.deletedSession {
      remove(session, atMost: .max)
      credentials.remove(Set(credentials.keys.filter { $0.session == session }))
      let places = cookies.all().filter { $0.row.session == session }
      for (place, row) in places {
        cookiePlaces[CookieName(session: session, key: row.cookie.key)] = nil
        cookies.remove(place)
      }
      sessions.remove(session)
    }
    if let pruning = change.pruning { prune(pruning) }
  }

  private mutating func wipe(_ session: SessionID) {
    for id in tasksOfSession[session] {
      tasks.change(id) { row in
        (row.smallBody, row.hasBodyFile) = (nil, false)
        row.task.forgetRequestBody()
      }
    }
    replies = replies.filter { $0.value.session != session }
  }

  /// Takes some rows of each table that grows with a session's tasks.
  private mutating func remove(_ session: SessionID, atMost count: Int) {
    // Numbers that were given out are not given out again, though nothing tells of them any more.
    reservedSequence = max(reservedSequence, journal.keys.last.flatMap { journal[$0]?.last } ?? 0)
    removeEvents(Set(journalOfSession[session].prefix(count)))
    let gone = Set(decisionsOfSession[session].prefix(count))
    decisions.remove(gone)
    decisionsOfSession.remove(from: session) { gone.contains($0) }
    deliveries.remove(
      deliveries.rows.all().lazy.filter { $0.row.sessionID == session && $0.row.state != .pending }
        .prefix(count).map(\.key))
    commands.remove(Set(commands.all().lazy.filter { $0.row.session == session }.prefix(count).map(\.key)))
    work.remove(Set(work.all().lazy.filter { $0.row.session == session }.prefix(count).map(\.key)))
    removeTasks(Set(tasksOfSession[session].prefix(count)))
  }

  private mutating func removeTasks(_ gone: Set<TaskID>) {
    let owners = Set(gone.compactMap { tasks[$0]?.task.sessionID })
    tasks.remove(gone)
    unfinished.remove(gone)
    for owner in owners { tasksOfSession.remove(from: owner) { gone.contains($0) } }
  }

  private mutating func removeEvents(_ gone: Set<Int64>) {
    var (owners, tasks): (Set<SessionID>, Set<TaskID>) = ([], [])
    var tenants: Set<Tenant> = []
    for fragment in gone.compactMap({ journal[$0] }) {
      owners.insert(fragment.sessionID)
      if let tenant = fragment.tenant { tenants.insert(tenant) }
      if let task = fragment.taskID { tasks.insert(task) }
    }
    journal.remove(gone)
    for tenant in tenants { journalOfTenant.remove(from: tenant) { gone.contains($0) } }
    for owner in owners { journalOfSession.remove(from: owner) { gone.contains($0) } }
    for task in tasks { journalOfTask.remove(from: task) { gone.contains($0) } }
  }

  private mutating func prune(_ pruning: Pruning) {
    removeTasks(Set(pruning.tasks.filter { tasks[$0]?.task.state == .completed }))
    for id in pruning.bodies {
      tasks.change(id) { row in
        guard row.task.state == .completed else { return }
        (row.smallBody, row.hasBodyFile, row.keptUntil, row.keptBytes) = (nil, false, nil, nil)
        row.isPruned = true
        row.task.forgetBody()
      }
    }
    if let events = pruning.events {
      let gone = journal.keys.prefix { $0 <= events.through }
      for fragment in gone.compactMap({ journal[$0] }) {
        if let tenant = fragment.tenant {
          prunedOfTenant[tenant] = max(prunedOfTenant[tenant] ?? 0, fragment.last)
        }
      }
      removeEvents(Set(gone))
      pruned = pruned.merged(with: events)
    }
    deliveries.remove(pruning.records.deliveries.compactMap { deliveries.settledPlace(of: $0) })
    let settled = Set(
      pruning.records.decisions.filter { decisions[$0].map { $0.state != .pending } ?? false })
    let owners = Set(settled.compactMap { decisions[$0]?.sessionID })
    decisions.remove(settled)
    for owner in owners { decisionsOfSession.remove(from: owner) { settled.contains($0) } }
    for old in pruning.records.replies where replies[old.key]?.reply.createdAt == old.createdAt {
      replies[old.key] = nil
    }
  }
}

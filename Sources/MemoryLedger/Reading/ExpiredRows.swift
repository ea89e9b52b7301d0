internal import Ledger
internal import TransferModel

/// The expired rows.
struct ExpiredRows {
  let reader: RowReader

  private var rows: MemoryRows { reader.rows }

  func finishedTasks(_ query: FinishedTaskQuery, limit: Int) -> [FinishedTask] {
    let (index, end): (SortedKeys<MemoryRows.TaskByTime>, Timestamp?) =
      switch query {
      case .ended(let time): (rows.ended, time)
      case .expired(let time): (rows.kept, time)
      case .keeping: (rows.ended, nil)
      }
    let moments = index.all().lazy.map(\.key).prefix { moment in end.map { moment.time <= $0 } ?? true }
    let found = moments.compactMap { rows.tasks[$0.task] }.filter { row in
      !rows.deliveries.hasPending(of: row.task.id)
        && !rows.deliveries.hasPendingWakeUp(of: row.task.sessionID)
        && (end != nil || (row.keptBytes ?? 0) > 0)
    }
    return reader.all(found, .task, limit: limit) { $0.task.id.description }.compactMap(\.finished)
  }

  func keptBytes() -> Int64 { rows.ended.all().reduce(0) { $0 + (rows.tasks[$1.key.task]?.keptBytes ?? 0) } }

  func staleRecords(_ ages: ExpiredRecords.Cutoffs, limit: Int) -> ExpiredRecords {
    var stale = ExpiredRecords()
    stale.deliveries = rows.deliveries.finished(by: ages.deliveries).prefix(limit).map(\.id)
    // Rows are sorted by id, and ids grow with time.
    let end = DecisionID(at: ages.decisions, random: (0, 0))
    stale.decisions = rows.decisions.all().lazy.prefix { $0.key < end }
      .filter { $0.row.state != .pending && !rows.deliveries.hasPending(of: $0.row.taskID) }
      .prefix(limit).map(\.key)
    stale.replies = rows.repliesByTime.all().lazy.map(\.key).prefix { $0.time <= ages.replies }
      .prefix(limit).map { ExpiredRecords.Reply(key: $0.key, createdAt: $0.time) }
    let groups = rows.groups.values.filter { group in
      group.state != .closed && (group.completedAt ?? group.createdAt) <= ages.groups
        && rows.tasksOfGroup[group.key].isEmpty
    }
    stale.groups = groups.sorted { ($0.createdAt, $0.key.name) < ($1.createdAt, $1.key.name) }.prefix(limit)
      .map(\.key)
    return stale
  }
}

extension MemoryRows.TaskRow {
  fileprivate var finished: FinishedTask? {
    completedAt.map {
      FinishedTask(
        id: task.id, sessionID: task.sessionID, endedAt: $0, keptUntil: keptUntil, keptBytes: keptBytes ?? 0,
        hadBody: task.originalRequest.body?.isInRequest == true)
    }
  }
}

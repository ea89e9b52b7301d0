internal import Ledger
internal import TransferModel

/// Rows by their age: what there is to take away.
struct AgedRows {
  let reader: RowReader

  func finishedTasks(_ query: FinishedTaskQuery, limit: Int) -> [FinishedTask] {
    var found: [(order: Timestamp, row: MemoryRows.TaskRow)] = []
    for (id, row) in reader.rows.tasks.all() {
      guard let order = row.place(in: query), reader.rows.deliveries.pendingOfTask[id] == nil,
        reader.rows.deliveries.pendingWakeUps[row.task.sessionID] == nil
      else { continue }
      found.append((order, row))
    }
    found.sort { ($0.order, $0.row.task.id) < ($1.order, $1.row.task.id) }
    return reader.all(found.lazy.map(\.row), .task, limit: limit) { $0.task.id.description }.compactMap(
      \.finished)
  }

  func keptBytes() -> Int64 {
    reader.rows.tasks.all().reduce(0) { $0 + ($1.row.completedAt == nil ? 0 : $1.row.keptBytes ?? 0) }
  }

  func staleRecords(_ ages: StaleRecords.Ages, limit: Int) -> StaleRecords {
    var stale = StaleRecords()
    let finished = reader.rows.deliveries.rows.all().compactMap { place, delivery in
      delivery.finishedAt.flatMap { $0 <= ages.deliveries ? (time: $0, place: place, id: delivery.id) : nil }
    }
    stale.deliveries = finished.sorted { ($0.time, $0.place) < ($1.time, $1.place) }.prefix(limit).map(\.id)
    // Ids grow with time, and so do the reader.rows.
    let end = DecisionID(at: ages.decisions, random: (0, 0))
    stale.decisions = reader.rows.decisions.all().lazy.prefix { $0.key < end }
      .filter { $0.row.state != .pending && reader.rows.deliveries.pendingOfTask[$0.row.taskID] == nil }
      .prefix(limit).map(\.key)
    let replies = reader.rows.replies.values.map(\.reply).filter { $0.createdAt <= ages.replies }
    stale.replies = replies.sorted { ($0.createdAt, $0.key.text) < ($1.createdAt, $1.key.text) }.prefix(limit)
      .map { StaleRecords.Reply(key: $0.key, createdAt: $0.createdAt) }
    return stale
  }
}

extension MemoryRows.TaskRow {
  /// By what it is in order among those that are asked for; nil where it is none of them.
  fileprivate func place(in query: FinishedTaskQuery) -> Timestamp? {
    switch query {
    case .ended(let time): completedAt.flatMap { $0 <= time ? $0 : nil }
    case .expired(let time): keptUntil.flatMap { $0 <= time ? $0 : nil }
    case .keeping: (keptBytes ?? 0) > 0 ? completedAt : nil
    }
  }

  fileprivate var finished: FinishedTask? {
    completedAt.map {
      FinishedTask(
        id: task.id, sessionID: task.sessionID, endedAt: $0, keptUntil: keptUntil, keptBytes: keptBytes ?? 0,
        hadBody: task.originalRequest.body?.isClients == true)
    }
  }
}

internal import TransferModel
internal import TransferStore

extension RowReader {
  /// Fragments with events after `sequence`, about `maximumBytes` of them.
  func journal(_ scope: EventScope, after sequence: Int64, maximumBytes: Int) -> JournalPage {
    let firsts: [Int64] =
      switch scope {
      case .tenant(let tenant): rows.journalOfTenant[tenant]
      case .session(let id): rows.journalOfSession[id]
      case .task(let id): rows.journalOfTask[id]
      }
    var (pruned, oldest) = (rows.pruned, rows.journal.keys.first)
    if case .tenant(let tenant) = scope {
      (pruned.through, oldest) = (rows.prunedOfTenant[tenant] ?? 0, firsts.first)
    }
    var page = JournalPage(
      fragments: [], coveredSequence: sequence, isLast: false, pruned: pruned, oldest: oldest ?? .max)
    // A fragment may begin before `sequence` and end after it: at most one, the last that begins before.
    let start = max(0, firsts.firstIndex(above: sequence) - 1)
    var bytes = 0
    for first in firsts[min(start, firsts.count)...] {
      guard let fragment = rows.journal[first], fragment.last > sequence else { continue }
      guard bytes < maximumBytes else { return page }
      page.coveredSequence = fragment.last
      guard let whole = all(CollectionOfOne(fragment), .journal, { "\($0.first)" }).first else { continue }
      bytes += whole.bytes.count
      page.fragments.append(whole)
    }
    guard bytes < maximumBytes else { return page }
    let newest = rows.journal.keys.last.flatMap { rows.journal[$0]?.last } ?? 0
    page.coveredSequence = max(newest, sequence, pruned.through)
    page.isLast = true
    return page
  }

  // MARK: What there is to take away

  func finishedTasks(_ query: FinishedTaskQuery, limit: Int) -> [FinishedTask] {
    var found: [(order: Timestamp, row: MemoryRows.TaskRow)] = []
    for (id, row) in rows.tasks.all() {
      guard let order = row.place(in: query), rows.pendingOfTask[id] == nil,
        rows.pendingWakeUps[row.task.sessionID] == nil
      else { continue }
      found.append((order, row))
    }
    found.sort { ($0.order, $0.row.task.id) < ($1.order, $1.row.task.id) }
    return all(found.lazy.map(\.row), .task, limit: limit) { $0.task.id.description }.compactMap(\.finished)
  }

  func keptBytes() -> Int64 {
    rows.tasks.all().reduce(0) { $0 + ($1.row.completedAt == nil ? 0 : $1.row.keptBytes ?? 0) }
  }

  func oldestEvents(limit: Int) -> [AgedEvents] {
    rows.journal.all().prefix(limit).map { _, fragment in
      AgedEvents(
        last: fragment.last, time: fragment.time ?? Timestamp(microseconds: 0),
        isHeld: fragment.taskID.map { rows.pendingOfTask[$0] != nil } ?? false)
    }
  }

  func staleRecords(_ ages: StaleRecords.Ages, limit: Int) -> StaleRecords {
    var stale = StaleRecords()
    let finished = rows.deliveries.all().compactMap { place, delivery in
      delivery.finishedAt.flatMap { $0 <= ages.deliveries ? (time: $0, place: place, id: delivery.id) : nil }
    }
    stale.deliveries = finished.sorted { ($0.time, $0.place) < ($1.time, $1.place) }.prefix(limit).map(\.id)
    // Ids grow with time, and so do the rows.
    let end = DecisionID(at: ages.decisions, random: (0, 0))
    stale.decisions = rows.decisions.all().lazy.prefix { $0.key < end }
      .filter { $0.row.state != .pending && rows.pendingOfTask[$0.row.taskID] == nil }
      .prefix(limit).map(\.key)
    let replies = rows.replies.values.map(\.reply).filter { $0.createdAt <= ages.replies }
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
        id: task.id, sessionID: task.sessionID, endedAt: $0, keptUntil: keptUntil, keptBytes: keptBytes ?? 0)
    }
  }
}

internal import BlobStore
internal import EngineAPI
internal import EventLoop
internal import Ledger
internal import TransferModel

/// The number of rows that one run of the pruner deleted.
package struct PrunedCounts: Sendable, Equatable {
  package var tasks = 0
  package var bodies = 0
  /// Rows of the journal.
  package var events = 0
  /// Finished deliveries, decisions, and replies to requests with an Idempotency-Key.
  package var records = 0
  package init() {}
}

/// Deletes expired tasks, bodies, records and events, then the oldest bodies beyond the limit of bytes.
///
/// One service prunes the durable ledger. Each service prunes its own memory, which has the records of ephemeral sessions.
struct Pruner: Sendable {
  /// Rows that one commit deletes. The limit keeps other commits from waiting long.
  private static let rowsPerCommit = 500

  let bodies: Bodies
  let orphans: OrphanCollector

  private var store: any Ledger { bodies.runtime.recorder.store }
  private var now: Timestamp { bodies.tasks.identifiers.now() }

  /// Prunes until nothing is expired, or until the task is cancelled. The next run finds the remaining rows.
  func prune(
    by retention: Retention, in places: [StorageTier]
  ) async throws(ServiceError) -> PrunedCounts {
    var counts = PrunedCounts()
    for place in places { try await prune(by: retention, in: place, &counts) }
    return counts
  }

  private func prune(
    by retention: Retention, in place: StorageTier, _ counts: inout PrunedCounts
  ) async throws(ServiceError) {
    do throws(LedgerError) {
      try await pruneTasks(
        .ended(by: now.adding(seconds: -retention.tasks)), in: place, by: retention, &counts)
      try await pruneTasks(.expired(by: now), in: place, by: retention, &counts)
      if retention.maximumBodyBytes != nil, place == .durable {
        try await pruneTasks(.keeping, in: place, by: retention, &counts)
      }
      try await pruneRecords(in: place, by: retention, &counts)
      try await pruneEvents(in: place, by: retention, &counts)
      if place == .durable { await orphans.removeExpiredQuarantine() }
    } catch {
      throw .store(error)
    }
  }

  private func pruneTasks(
    _ query: FinishedTaskQuery, in place: StorageTier, by retention: Retention,
    _ counts: inout PrunedCounts
  ) async throws(LedgerError) {
    var keptBytes: Int64 = 0
    if case .keeping = query { keptBytes = try await store.retentionRecords(in: place).keptBytes() }
    while !Task.isCancelled {
      let finished = try await store.retentionRecords(in: place).finishedTasks(
        query, limit: Self.rowsPerCommit)
      let plan = RetentionPlan(for: finished, keptBytes: keptBytes, by: retention, at: now)
      guard !plan.isEmpty else { return }
      // Read before the commit, which deletes the rows or removes the keys from them.
      let goingWithRows = try await rows(of: plan.tasks.filter { $0.keptUntil != nil || $0.hadBody })
      let going = try await rows(of: plan.bodies.filter { $0.keptUntil != nil })
      var pruning = Pruning(in: place)
      pruning.tasks = plan.tasks.map(\.id)
      pruning.bodies = plan.bodies.map(\.id)
      try await write(pruning)
      keptBytes = plan.keptBytes
      counts.tasks += plan.tasks.count
      counts.bodies += plan.bodies.count
      await remove(goingWithRows.map { ($0.sessionID, $0.allKeys) } + going.map { ($0.sessionID, $0.keys) })
    }
  }

  private func rows(of tasks: [FinishedTask]) async throws(LedgerError) -> [TransferTask] {
    tasks.isEmpty ? [] : try await store.tasks(tasks.map(\.id))
  }

  /// Deletes files after the commit. If the process dies between the two, the orphan collector of the next start finds files without a row.
  private func remove(_ files: [(session: SessionID, keys: [BlobKey])]) async {
    guard !files.isEmpty else { return }
    for (session, keys) in files { await bodies.blobs(of: session).delete(keys, on: bodies.runtime.pool) }
  }

  private func pruneRecords(
    in place: StorageTier, by retention: Retention, _ counts: inout PrunedCounts
  ) async throws(LedgerError) {
    // A task's decisions are older than its end, so the retention of tasks covers them.
    let ages = ExpiredRecords.Cutoffs(
      deliveries: now.adding(seconds: -retention.deliveries),
      decisions: now.adding(seconds: -retention.tasks),
      replies: now.adding(seconds: -IdempotentReply.retention), groups: now.adding(seconds: -retention.tasks))
    while !Task.isCancelled {
      var pruning = Pruning(in: place)
      pruning.records = try await store.retentionRecords(in: place).staleRecords(
        ages, limit: Self.rowsPerCommit)
      guard pruning.records.count > 0 else { return }
      try await write(pruning)
      counts.records += pruning.records.count
    }
  }

  private func pruneEvents(
    in place: StorageTier, by retention: Retention, _ counts: inout PrunedCounts
  ) async throws(LedgerError) {
    let time = now.adding(seconds: -retention.events)
    while !Task.isCancelled {
      let oldest = try await store.retentionRecords(in: place).oldestEvents(limit: Self.rowsPerCommit)
      guard let events = PrunedEvents(of: oldest, upTo: time) else { return }
      var pruning = Pruning(in: place)
      pruning.events = events
      try await write(pruning)
      counts.events += oldest.count { $0.last <= events.through }
    }
  }

  private func write(_ pruning: Pruning) async throws(LedgerError) {
    var change = LedgerChange()
    change.pruning = pruning
    try await store.write(change)
  }
}

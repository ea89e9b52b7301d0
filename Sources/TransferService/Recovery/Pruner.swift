internal import BlobStore
internal import EngineAPI
internal import EventLoop
internal import Ledger
internal import TransferModel

/// How much went at one time.
package struct PrunedCounts: Sendable, Equatable {
  package var tasks = 0
  package var bodies = 0
  /// Rows of the journal.
  package var events = 0
  /// Finished deliveries, decisions, and replies to requests with an Idempotency-Key.
  package var records = 0
  package init() {}
}

/// Takes away what is older than it has to be kept, and of what then is too much the oldest.
///
/// One process does so for the disk. Each does so for its own memory, which has what ephemeral sessions leave.
struct Pruner: Sendable {
  /// Rows that go with one commit: those who wait for the next one hardly notice.
  private static let rowsPerCommit = 500

  let bodies: Bodies
  let sweeper: Sweeper

  private var store: any Ledger { bodies.room.recorder.store }
  private var now: Timestamp { bodies.tasks.identifiers.now() }

  /// Goes on to the end unless it is cancelled; what it did not come to is found the next time.
  func prune(
    by retention: Retention, in places: [RetainedPlace]
  ) async throws(ServiceError) -> PrunedCounts {
    var counts = PrunedCounts()
    for place in places { try await prune(by: retention, in: place, &counts) }
    return counts
  }

  private func prune(
    by retention: Retention, in place: RetainedPlace, _ counts: inout PrunedCounts
  ) async throws(ServiceError) {
    do throws(StoreError) {
      try await pruneTasks(
        .ended(by: now.adding(seconds: -retention.tasks)), in: place, by: retention, &counts)
      try await pruneTasks(.expired(by: now), in: place, by: retention, &counts)
      if retention.maximumBodyBytes != nil, place == .durable {
        try await pruneTasks(.keeping, in: place, by: retention, &counts)
      }
      try await pruneRecords(in: place, by: retention, &counts)
      try await pruneEvents(in: place, by: retention, &counts)
      if place == .durable { await sweeper.removeSetAside() }
    } catch {
      throw .store(error)
    }
  }

  private func pruneTasks(
    _ query: FinishedTaskQuery, in place: RetainedPlace, by retention: Retention,
    _ counts: inout PrunedCounts
  ) async throws(StoreError) {
    var keptBytes: Int64 = 0
    if case .keeping = query { keptBytes = try await store.retained(in: place).keptBytes() }
    while !Task.isCancelled {
      let finished = try await store.retained(in: place).finishedTasks(query, limit: Self.rowsPerCommit)
      let plan = RetentionPlan(for: finished, keptBytes: keptBytes, by: retention, at: now)
      guard !plan.isEmpty else { return }
      // Where they are is in rows that go, or that know it no longer.
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

  private func rows(of tasks: [FinishedTask]) async throws(StoreError) -> [TransferTask] {
    tasks.isEmpty ? [] : try await store.tasks(tasks.map(\.id))
  }

  /// After the commit: where the process dies in between, the next one finds files without a row.
  private func remove(_ files: [(session: SessionID, keys: [BlobKey])]) async {
    guard !files.isEmpty else { return }
    for (session, keys) in files { await bodies.blobs(of: session).delete(keys, on: bodies.room.pool) }
  }

  private func pruneRecords(
    in place: RetainedPlace, by retention: Retention, _ counts: inout PrunedCounts
  ) async throws(StoreError) {
    // A task's decisions are older than its end.
    let ages = StaleRecords.Ages(
      deliveries: now.adding(seconds: -retention.deliveries),
      decisions: now.adding(seconds: -retention.tasks),
      replies: now.adding(seconds: -IdempotentReply.retention))
    while !Task.isCancelled {
      var pruning = Pruning(in: place)
      pruning.records = try await store.retained(in: place).staleRecords(
        ages, limit: Self.rowsPerCommit)
      guard pruning.records.count > 0 else { return }
      try await write(pruning)
      counts.records += pruning.records.count
    }
  }

  private func pruneEvents(
    in place: RetainedPlace, by retention: Retention, _ counts: inout PrunedCounts
  ) async throws(StoreError) {
    let time = now.adding(seconds: -retention.events)
    while !Task.isCancelled {
      let oldest = try await store.retained(in: place).oldestEvents(limit: Self.rowsPerCommit)
      guard let events = PrunedEvents(of: oldest, upTo: time) else { return }
      var pruning = Pruning(in: place)
      pruning.events = events
      try await write(pruning)
      counts.events += oldest.count { $0.last <= events.through }
    }
  }

  private func write(_ pruning: Pruning) async throws(StoreError) {
    var change = StoreChange()
    change.pruning = pruning
    try await store.write(change)
  }
}

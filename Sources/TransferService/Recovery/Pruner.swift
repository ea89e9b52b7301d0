internal import EventLoop
internal import TransferEngine
internal import TransferModel
internal import TransferStore

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
struct Pruner: Sendable {
  /// Rows that go with one commit: those who wait for the next one hardly notice.
  private static let rowsPerCommit = 500

  let bodies: Bodies
  let sweeper: Sweeper

  private var store: any TransferStore { bodies.room.recorder.store }
  private var now: Timestamp { bodies.tasks.identifiers.now() }

  /// Goes on to the end unless it is cancelled; what it did not come to is found the next time.
  func prune(by retention: Retention) async throws(ServiceError) -> PrunedCounts {
    var counts = PrunedCounts()
    do throws(StoreError) {
      try await pruneTasks(.ended(by: now.adding(seconds: -retention.tasks)), by: retention, &counts)
      try await pruneTasks(.expired(by: now), by: retention, &counts)
      if retention.maximumBodyBytes != nil { try await pruneTasks(.keeping, by: retention, &counts) }
      try await pruneRecords(by: retention, &counts)
      try await pruneEvents(by: retention, &counts)
      await sweeper.removeSetAside()
    } catch {
      throw .store(error)
    }
    return counts
  }

  private func pruneTasks(
    _ query: FinishedTaskQuery, by retention: Retention, _ counts: inout PrunedCounts
  ) async throws(StoreError) {
    var keptBytes = retention.maximumBodyBytes == nil ? 0 : try await store.keptBytes()
    while !Task.isCancelled {
      let finished = try await store.finishedTasks(query, limit: Self.rowsPerCommit)
      let plan = RetentionPlan(for: finished, keptBytes: keptBytes, by: retention, at: now)
      guard !plan.isEmpty else { return }
      var pruning = Pruning()
      pruning.tasks = plan.tasks.map(\.id)
      pruning.bodies = plan.bodies.map(\.id)
      try await write(pruning)
      keptBytes = plan.keptBytes
      counts.tasks += plan.tasks.count
      counts.bodies += plan.bodies.count
      await removeFiles(of: plan.tasks + plan.bodies)
    }
  }

  /// After the commit: where the process dies in between, the next one finds files without a row.
  private func removeFiles(of tasks: [FinishedTask]) async {
    let keeping = tasks.filter { $0.keptUntil != nil }
    guard !keeping.isEmpty else { return }
    await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
      bodies.room.pool.submit {
        for task in keeping {
          let directory = bodies.directory(of: task.sessionID)
          directory.remove(task.id)
          directory.removePartial(task.id)
        }
        continuation.resume()
      }
    }
  }

  private func pruneRecords(
    by retention: Retention, _ counts: inout PrunedCounts
  ) async throws(StoreError) {
    // A task's decisions are older than its end.
    let ages = StaleRecords.Ages(
      deliveries: now.adding(seconds: -retention.deliveries),
      decisions: now.adding(seconds: -retention.tasks),
      replies: now.adding(seconds: -IdempotentReply.retention))
    while !Task.isCancelled {
      var pruning = Pruning()
      pruning.records = try await store.staleRecords(ages, limit: Self.rowsPerCommit)
      guard pruning.records.count > 0 else { return }
      try await write(pruning)
      counts.records += pruning.records.count
    }
  }

  private func pruneEvents(
    by retention: Retention, _ counts: inout PrunedCounts
  ) async throws(StoreError) {
    let time = now.adding(seconds: -retention.events)
    while !Task.isCancelled {
      let oldest = try await store.oldestEvents(limit: Self.rowsPerCommit)
      guard let events = PrunedEvents(of: oldest, upTo: time) else { return }
      var pruning = Pruning()
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

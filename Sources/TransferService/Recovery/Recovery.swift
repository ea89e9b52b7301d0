internal import BlobStore
internal import Cluster
internal import EngineAPI
internal import EventLoop
internal import JSON
internal import Ledger
internal import Logging
internal import Records
internal import Synchronization
internal import TransferCore
internal import TransferModel

/// Recovers the sessions of shards that this service has taken over. `recover` restores what clients can request, before they are
/// admitted; `catchUp` does slower work while requests are served.
struct Recovery: Sendable {
  /// Rows that are read at one time.
  private static let page = 500

  let sessions: Sessions
  let workerReports: WorkerReportReader
  let blobs: any BlobStore
  let logger: Logger

  private var runtime: SessionRuntime { sessions.runtime }
  private var store: any Ledger { sessions.runtime.recorder.store }
  private var engine: any TransferExecuting { sessions.runtime.engine }
  private var now: Timestamp { sessions.identifiers.now() }

  /// Restores sessions and suspended tasks, and ends default tasks that were running. Call it before clients are admitted, and
  /// again if it throws.
  /// It reads all rows first. Tasks start or end only after the last read has succeeded.
  /// - Returns: the number of tasks that it ended.
  func recover(_ shards: ShardSet) async throws(LedgerError) -> Int {
    let cluster = runtime.cluster
    await runtime.pool.run { [placer = runtime.placer] in
      // The dead services, and frozen ones, can then rename none of their temporary files.
      placer.store?.removeLeftovers { cluster.epoch == $0 || cluster.isLiving($0) }
    }
    sessions.forget(shards)
    engine.storages.noteStored(try await store.sessionsWithStorage().filter { shards.contains($0.shard) })
    try await recoverSessions(shards)
    let running = try await recoverTasks(shards)
    let arrived = sessions.sessions(of: shards)
    try await recoverBeginnings(arrived)
    try await recoverQuestions(arrived)
    var ended = 0
    for session in arrived {
      runtime.update(session.id) { machine, step in
        _ = machine.apply(.recoveredAll, &step)
        for task in running[session.id] ?? [] where machine.task(task)?.isEnding == true { ended += 1 }
      }
    }
    if shards == .all { removeOrphanedCaches() }
    return ended
  }

  private func give(_ input: SessionInput, to session: SessionID) {
    runtime.update(session) { machine, step in _ = machine.apply(input, &step) }
  }

  // MARK: Sessions

  private func recoverSessions(_ shards: ShardSet) async throws(LedgerError) {
    var stored = try await store.sessions().filter { shards.contains($0.session.id.shard) }
    let isSharedUnreadable = store.unreadable.row(.session, SessionID.shared) != nil
    if shards.contains(SessionID.shared.shard), !isSharedUnreadable,
      !stored.contains(where: { $0.session.id == .shared })
    {
      var change = LedgerChange()
      change.sessions = [.shared(.shared, of: .default)]
      try await store.write(change)
      stored.append((change.sessions[0], 0))
    }
    let pending = Dictionary(grouping: try await store.pendingBackgroundDeliveries(), by: \.sessionID)
    for (session, last) in stored {
      sessions.names.restore(session)
      let messages = (pending[session.id] ?? []).map {
        (id: $0.id, isWakeUp: $0.type == .sessionHandleEvents)
      }
      sessions.open(session, lastIdentifier: last, pending: messages)
    }
  }

  /// Deletes the caches of sessions that no longer exist.
  private func removeOrphanedCaches() {
    let alive = runtime.sessions().filter { $0.state != .invalid }.map(\.id)
    let unreadable = store.unreadable.rows(of: .session).compactMap { SessionID($0.id) }
    engine.caches?.removeOrphans(keeping: Set(alive + unreadable))
  }

  // MARK: Tasks

  /// - Returns: the tasks that were running, by session.
  private func recoverTasks(_ shards: ShardSet) async throws(LedgerError) -> [SessionID: [TaskID]] {
    var running: [SessionID: [TaskID]] = [:]
    var partials = PartialDownloadRecovery(blobs, as: runtime.stamp, logger)
    var last: TransferTask?
    while true {
      let page = try await store.unfinishedTasks(after: last, limit: Self.page)
      guard let final = page.last else {
        if partials.hasFailed { runtime.keepsPartialFiles.store(true, ordering: .relaxed) }
        return running
      }
      last = final
      for task in page where shards.contains(task.sessionID.shard) {
        await recover(task, &partials)
        if task.state == .running { running[task.sessionID, default: []].append(task.id) }
      }
    }
  }

  private func recover(_ known: TransferTask, _ partials: inout PartialDownloadRecovery) async {
    // A task of an unreadable session waits until its session can be read.
    guard store.unreadable.row(.session, known.sessionID) == nil else { return }
    var task = known
    if runtime.background?.has(task.sessionID) != true {
      task.partial = await partial(of: task, &partials)
    }
    let (recovered, isAhead) = (task, task.partial != known.partial)
    runtime.directory[task.id] = task.sessionID
    runtime.update(task.sessionID) { machine, step in
      _ = machine.apply(.recovered(recovered, isAhead: isAhead), &step)
    }
  }

  /// Finds the bytes that a download can resume from.
  private func partial(of task: TransferTask, _ partials: inout PartialDownloadRecovery) async -> ResumePoint?
  {
    if task.partial?.upload != nil { return task.partial }
    let given = task.resumePoint?.download
    return await partials.recover(task.id, at: task.partial?.download, given: given).map { .download($0) }
  }

  /// Restores the delegates' answers about begin dates, so that a delegate is asked only once.
  private func recoverBeginnings(_ arrived: [TransferSession]) async throws(LedgerError) {
    for session in arrived {
      let mayHaveAsked = runtime.read(at: session.id) { machine in
        machine.tasks.hasBeginDate { session.delegate(of: $0)?.asksForDelayedRequests == true }
      }
      guard mayHaveAsked == true else { continue }
      for state in [Decision.State.answered, .expired] {
        try await forEachDecision(of: session.id, state) { decision in
          if decision.type == .taskWillBeginDelayedRequest {
            give(.beginApproved(decision.taskID), to: session.id)
          }
        }
      }
    }
  }

  /// Restores the pending decisions of background tasks, which can still be answered.
  private func recoverQuestions(_ arrived: [TransferSession]) async throws(LedgerError) {
    for session in arrived where runtime.background?.has(session.id) == true {
      try await forEachDecision(of: session.id, .pending) { decision in
        let kind: OpenDecision.Kind? =
          decision.type == .taskWillBeginDelayedRequest
          ? .delayedRequest : decision.challengeMethod.map { .challenge($0) }
        // The remaining time is at most the original one, even if the wall clock was set back.
        let whole = decision.expiresAt.since(decision.createdAt)
        give(
          .recoverDecision(
            decision.taskID, decision.id, number: decision.question, kind,
            seconds: min(whole, decision.expiresAt.since(now))), to: session.id)
      }
    }
  }

  private func forEachDecision(
    of session: SessionID, _ state: Decision.State, _ body: (Decision) -> Void
  ) async throws(LedgerError) {
    var last: DecisionID?
    while true {
      let page = try await store.decisions(of: session, state: state, after: last, limit: Self.page)
      guard let final = page.last else { return }
      last = final.id
      for decision in page { body(decision) }
    }
  }

  // MARK: While requests are served

  /// Reads the worker's progress: unread commands, stored work, and reports. Then submits the tasks that were created but not
  /// submitted. Call it after `recover`, and again if it throws.
  func catchUp(with shards: ShardSet) async throws(LedgerError) {
    if let background = runtime.background, background.isNeeded {
      // Commands become work, and work becomes reports. Reading in this order misses no task.
      let commands = try await submittedTasks()
      let work = try await recoverWork()
      workerReports.recordWorkerUndecodable(commands.unread + work.unread)
      try await workerReports.startReading(shards, readsAll: true)
      // A task whose progress or reports cannot be read may have sent its request, so it must not start again.
      let known = commands.known.union(work.known).union(workerReports.refusedTasks)
      for session in sessions.sessions(of: shards) where background.has(session.id) {
        give(.workerTasksKnown(except: known), to: session.id)
      }
    } else {
      try await workerReports.startReading(
        shards, readsAll: shards.contains(WorkerReportReader.shardOfGeneralReports))
    }
    workerReports.catchUp()
    runtime.background?.wakeWorker()
  }

  /// The tasks that the worker has or may have, and the number of unreadable documents.
  private typealias Known = (known: Set<TaskID>, unread: Int)

  /// The tasks with a waiting submit command.
  private func submittedTasks() async throws(LedgerError) -> Known {
    var found: Known = ([], 0)
    var number: Int64 = 0
    while true {
      let rows = try await store.commands(after: number, limit: Self.page)
      guard let last = rows.last else { return found }
      number = last.number
      for row in rows {
        do throws(RecordFault) {
          if case .submit(let task) = try QueueDocumentCoding.decode(
            BackgroundCommand.self, row.content.document)
          {
            found.known.insert(task)
          }
        } catch {
          found.unread += 1
          if let subject = DocumentSubject(ofDocument: row.content.document) {
            found.known.insert(subject.task)
          }
        }
      }
    }
  }

  private func recoverWork() async throws(LedgerError) -> Known {
    let damaged = store.unreadable.rows(of: .work).compactMap { TaskID($0.id) }
    var found: Known = (Set(damaged), 0)
    var last: TaskID?
    while true {
      let page = try await store.work(after: last, limit: Self.page)
      guard let final = page.last else { return found }
      last = final.task
      for work in page {
        do throws(RecordFault) {
          let state = try QueueDocumentCoding.decode(WorkState.self, work.document)
          if let session = runtime.directory[work.task] {
            give(.isAtWorker(work.task, ReceivedCommands(state)), to: session)
          }
        } catch {
          found.unread += 1
          found.known.insert(work.task)
        }
      }
    }
  }
}

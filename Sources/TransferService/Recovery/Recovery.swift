internal import BlobStore
internal import EngineAPI
internal import EventLoop
internal import JSON
internal import Ledger
internal import Logging
internal import Records
internal import Synchronization
internal import TransferCore
internal import TransferModel

/// Takes up the sessions of shards that have become this process's own, wherever they were before: before anyone is let in what clients may
/// ask for, and beside serving what takes longer.
struct Recovery: Sendable {
  /// Rows that are read at one time.
  private static let page = 500

  let sessions: Sessions
  let news: NewsReader
  let blobs: any BlobStore
  let logger: Logger

  private var room: MachineRoom { sessions.room }
  private var store: any Ledger { sessions.room.recorder.store }
  private var engine: any LocalCarrier { sessions.room.engine }
  private var now: Timestamp { sessions.identifiers.now() }

  /// Sessions, suspended tasks, and the end of those that were running. Called before clients are let in; call it again if it fails. It reads
  /// all rows first. Tasks start or end only after the last read has succeeded.
  /// - Returns: the number of tasks that it ended.
  func recover(_ shards: ShardSet) async throws(StoreError) -> Int {
    sessions.forget(shards)
    engine.storages.noteStored(try await store.sessionsWithStorage().filter { shards.contains($0.shard) })
    try await recoverSessions(shards)
    let running = try await recoverTasks(shards)
    let arrived = sessions.sessions(of: shards)
    try await recoverBeginnings(arrived)
    try await recoverQuestions(arrived)
    var ended = 0
    for session in arrived {
      room.visit(session.id) { machine, step in
        _ = machine.take(.recoveredAll, &step)
        for task in running[session.id] ?? [] where machine.task(task)?.isEnding == true { ended += 1 }
      }
    }
    if shards == .all { removeOrphanedCaches() }
    return ended
  }

  private func give(_ input: Input, to session: SessionID) {
    room.visit(session) { machine, step in _ = machine.take(input, &step) }
  }

  // MARK: Sessions

  private func recoverSessions(_ shards: ShardSet) async throws(StoreError) {
    var stored = try await store.sessions().filter { shards.contains($0.session.id.shard) }
    let isSharedUnreadable = store.unreadable.row(.session, SessionID.shared) != nil
    if shards.contains(SessionID.shared.shard), !isSharedUnreadable,
      !stored.contains(where: { $0.session.id == .shared })
    {
      var change = StoreChange()
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

  /// What sessions had stored that are over.
  private func removeOrphanedCaches() {
    let alive = room.sessions().filter { $0.state != .invalid }.map(\.id)
    let unreadable = store.unreadable.rows(of: .session).compactMap { SessionID($0.id) }
    engine.caches?.removeOrphans(keeping: Set(alive + unreadable))
  }

  // MARK: Tasks

  /// - Returns: the tasks that were running, by session.
  private func recoverTasks(_ shards: ShardSet) async throws(StoreError) -> [SessionID: [TaskID]] {
    var running: [SessionID: [TaskID]] = [:]
    var salvage = Salvage(blobs, as: room.stamp, logger)
    var last: TransferTask?
    while true {
      let page = try await store.unfinishedTasks(after: last, limit: Self.page)
      guard let final = page.last else {
        if salvage.hasFailed { room.keepsPartialFiles.store(true, ordering: .relaxed) }
        return running
      }
      last = final
      for task in page where shards.contains(task.sessionID.shard) {
        await recover(task, &salvage)
        if task.state == .running { running[task.sessionID, default: []].append(task.id) }
      }
    }
  }

  private func recover(_ known: TransferTask, _ salvage: inout Salvage) async {
    // What belongs to a session that cannot be read waits with it.
    guard store.unreadable.row(.session, known.sessionID) == nil else { return }
    var task = known
    if room.background?.has(task.sessionID) != true {
      task.partial = await partial(of: task, &salvage)
    }
    let (recovered, isAhead) = (task, task.partial != known.partial)
    room.directory[task.id] = task.sessionID
    room.visit(task.sessionID) { machine, step in
      _ = machine.take(.recovered(recovered, isAhead: isAhead), &step)
    }
  }

  /// What a download had got: it can go on from there.
  private func partial(of task: TransferTask, _ salvage: inout Salvage) async -> ResumePoint? {
    if task.partial?.upload != nil { return task.partial }
    let given = task.resumePoint?.download
    return await salvage.takeOver(task.id, at: task.partial?.download, given: given).map { .download($0) }
  }

  /// A delegate that was asked about a begin date is not asked again: suspended tasks begin when they are resumed.
  private func recoverBeginnings(_ arrived: [TransferSession]) async throws(StoreError) {
    for session in arrived {
      let mayHaveAsked = room.look(at: session.id) { machine in
        machine.tasks.hasBeginDate { session.delegate(of: $0)?.asksForDelayedRequests == true }
      }
      guard mayHaveAsked == true else { continue }
      for state in [Decision.State.answered, .expired] {
        try await forEachDecision(of: session.id, state) { decision in
          if decision.type == .taskWillBeginDelayedRequest {
            give(.hadBegun(decision.taskID), to: session.id)
          }
        }
      }
    }
  }

  /// Decisions of tasks that are carried out elsewhere can still be answered.
  private func recoverQuestions(_ arrived: [TransferSession]) async throws(StoreError) {
    for session in arrived where room.background?.has(session.id) == true {
      try await forEachDecision(of: session.id, .pending) { decision in
        let kind: Question.Kind? =
          decision.type == .taskWillBeginDelayedRequest
          ? .delayedRequest : decision.challengeMethod.map { .challenge($0) }
        // It waits no longer than it was to, however the clock is set.
        let whole = decision.expiresAt.since(decision.createdAt)
        give(
          .waits(
            decision.taskID, decision.id, number: decision.question, kind,
            seconds: min(whole, decision.expiresAt.since(now))), to: session.id)
      }
    }
  }

  private func forEachDecision(
    of session: SessionID, _ state: Decision.State, _ body: (Decision) -> Void
  ) async throws(StoreError) {
    var last: DecisionID?
    while true {
      let page = try await store.decisions(of: session, state: state, after: last, limit: Self.page)
      guard let final = page.last else { return }
      last = final.id
      for decision in page { body(decision) }
    }
  }

  // MARK: Beside serving

  /// Finds out how far the other process has come, beside serving: what it has, what it has told, and which tasks were created but
  /// not handed over. What it tells later is heard from then on. Called after `recover`; again where it fails.
  func catchUp(with shards: ShardSet) async throws(StoreError) {
    if let background = room.background, background.isNeeded {
      // In the order in which a task passes through them: none slips by between two of the readings.
      let commands = try await submittedTasks()
      let work = try await recoverWork()
      news.workerRefuses(commands.unread + work.unread)
      try await news.hear(shards, readsAll: true)
      // Whoever cannot read how far a task has come, or what was told of it, must not begin it anew.
      let known = commands.known.union(work.known).union(news.refusedTasks)
      for session in sessions.sessions(of: shards) where background.has(session.id) {
        give(.allElsewhereKnown(except: known), to: session.id)
      }
    } else {
      try await news.hear(shards, readsAll: shards.contains(NewsReader.commonShard))
    }
    news.catchUp()
    room.background?.ring()
  }

  /// Tasks that the other process has, or that nobody can say of that it has not; and how many documents cannot be read.
  private typealias Known = (known: Set<TaskID>, unread: Int)

  /// Those whose commands wait.
  private func submittedTasks() async throws(StoreError) -> Known {
    var found: Known = ([], 0)
    var number: Int64 = 0
    while true {
      let rows = try await store.commands(after: number, limit: Self.page)
      guard let last = rows.last else { return found }
      number = last.number
      for row in rows {
        do throws(RecordFault) {
          if case .submit(let task) = try WorkerDocument.decode(BackgroundCommand.self, row.content.document)
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

  private func recoverWork() async throws(StoreError) -> Known {
    let damaged = store.unreadable.rows(of: .work).compactMap { TaskID($0.id) }
    var found: Known = (Set(damaged), 0)
    var last: TaskID?
    while true {
      let page = try await store.work(after: last, limit: Self.page)
      guard let final = page.last else { return found }
      last = final.task
      for work in page {
        do throws(RecordFault) {
          let state = try WorkerDocument.decode(WorkState.self, work.document)
          if let session = room.directory[work.task] {
            give(.isElsewhere(work.task, Elsewhere(state)), to: session)
          }
        } catch {
          found.unread += 1
          found.known.insert(work.task)
        }
      }
    }
  }
}

internal import EventLoop
internal import JSON
internal import TransferCore
internal import TransferEngine
internal import TransferModel
internal import TransferStore

/// Takes up what an earlier process left: before anyone is served what clients may ask for, and beside serving what takes longer.
struct Recovery: Sendable {
  /// Rows that are read at one time.
  private static let page = 500

  let sessions: Sessions
  let news: NewsReader
  let bodies: BodyDirectory

  private var room: MachineRoom { sessions.room }
  private var store: any TransferStore { sessions.room.recorder.store }
  private var engine: any LocalCarrier { sessions.room.engine }
  private var now: Timestamp { sessions.identifiers.now() }

  /// Sessions, suspended tasks, and the end of those that were running. Called once, before anyone is served.
  /// - Returns: how many tasks it ended.
  func recover() async throws(StoreError) -> Int {
    // Nobody waits for what is queued behind this.
    try await withdrawDecisions()
    try await recoverSessions()
    try await recoverCredentials()
    try await recoverCookies()
    let interrupted = try await recoverTasks()
    try await recoverBeginnings()
    try await recoverQuestions()
    for session in room.sessions() { give(.recoveredAll, to: session.id) }
    removeOrphanedCaches()
    return interrupted
  }

  private func give(_ input: Input, to session: SessionID) {
    room.visit(session) { machine, step in _ = machine.take(input, &step) }
  }

  /// What waited for an answer has ended with the process.
  private func withdrawDecisions() async throws(StoreError) {
    var change = StoreChange()
    change.withdrawsDecisions = true
    try await store.write(change)
  }

  // MARK: Sessions

  private func recoverSessions() async throws(StoreError) {
    var stored = try await store.sessions()
    let isSharedUnreadable = store.unreadable.row(.session, SessionID.shared) != nil
    if !isSharedUnreadable, !stored.contains(where: { $0.session.id == .shared }) {
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

  private func recoverCredentials() async throws(StoreError) {
    for stored in try await store.credentials() {
      engine.credentials.set(stored.credential, for: stored.space, in: stored.session)
    }
  }

  private func recoverCookies() async throws(StoreError) {
    let stored = try await store.cookies()
    for (session, cookies) in Dictionary(grouping: stored, by: \.session) {
      engine.cookies.restore(cookies.map(\.cookie), of: session, now: now)
    }
  }

  /// What sessions had stored that are over.
  private func removeOrphanedCaches() {
    let alive = room.sessions().filter { $0.state != .invalid }.map(\.id)
    let unreadable = store.unreadable.rows(of: .session).compactMap { SessionID($0.id) }
    engine.caches?.removeOrphans(keeping: Set(alive + unreadable))
  }

  // MARK: Tasks

  private func recoverTasks() async throws(StoreError) -> Int {
    var interrupted = 0
    var last: TaskID?
    while true {
      let page = try await store.unfinishedTasks(after: last, limit: Self.page)
      guard let final = page.last else { return interrupted }
      last = final.id
      for task in page { interrupted += recover(task) ? 1 : 0 }
    }
  }

  /// - Returns: whether it has ended with its process.
  private func recover(_ task: TransferTask) -> Bool {
    // What belongs to a session that cannot be read waits with it.
    guard store.unreadable.row(.session, task.sessionID) == nil else { return false }
    var task = task
    if room.background?.has(task.sessionID) != true {
      task.partial = salvage(task)
      // Nobody goes on with what is still there.
      bodies.removeTemporary(task.id)
    }
    let recovered = task
    room.directory[task.id] = task.sessionID
    return room.visit(task.sessionID) { machine, step in
      machine.take(.recovered(recovered), &step)
      return task.state == .running && machine.task(task.id)?.isEnding == true
    } ?? false
  }

  /// What a download had got: it can go on from there.
  private func salvage(_ task: TransferTask) -> ResumePoint? {
    if task.partial?.upload != nil { return task.partial }
    guard var point = task.partial?.download, point.source == task.id else {
      if let given = task.resumePoint?.download { bodies.returnClaim(of: given, from: task.id) }
      return nil
    }
    point.partial.offset = bodies.salvage(task.id)
    return point.partial.offset > 0 ? .download(point) : nil
  }

  /// A delegate that was asked about a begin date is not asked again: suspended tasks begin when they are resumed.
  private func recoverBeginnings() async throws(StoreError) {
    for session in room.sessions() {
      let mayHaveAsked = room.look(at: session.id) { machine in
        machine.hasTask { task in
          task.earliestBeginDate != nil && session.delegate(of: task)?.asksForDelayedRequests == true
        }
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
  private func recoverQuestions() async throws(StoreError) {
    for session in room.sessions() where room.background?.has(session.id) == true {
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
  /// not handed over. What it tells later is heard from then on. Called once, after `recover`; again where it fails.
  func catchUp() async throws(StoreError) {
    if let background = room.background, background.isNeeded {
      // In the order in which a task passes through them: none slips by between two of the readings.
      let commands = try await submittedTasks()
      let work = try await recoverWork()
      news.workerRefuses(commands.unread + work.unread)
      try await news.readAll()
      // Whoever cannot read how far a task has come, or what was told of it, must not begin it anew.
      let known = commands.known.union(work.known).union(news.refusedTasks)
      for session in room.sessions() where background.has(session.id) {
        give(.allElsewhereKnown(except: known), to: session.id)
      }
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
        do throws(WorkerDocument.Refusal) {
          if case .submit(let task) = try WorkerDocument.decode(WorkerCommand.self, row.content.document) {
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
        do throws(WorkerDocument.Refusal) {
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

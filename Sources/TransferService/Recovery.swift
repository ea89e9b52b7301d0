internal import Synchronization
internal import TransferCore
internal import TransferEngine
internal import TransferModel
internal import TransferStore

extension TransferService {
  /// Takes up what an earlier process left: sessions, suspended tasks, and the end of those that were running.
  /// Returns how many tasks it ended. Called once, before anyone is served; what takes longer than that may is done by `catchUp`
  /// and `sweep`, beside serving.
  package func recover() async throws(ServiceError) -> Int {
    do throws(StoreError) {
      // Nobody waits for what is queued behind this.
      try await withdrawDecisions()
      try await recoverSessions()
      try await recoverCredentials()
      try await recoverCookies()
      let interrupted = try await recoverTasks()
      try await recoverBeginnings()
      try await recoverQuestions()
      noteFoundFiles()
      removeOrphanedCaches()
      return interrupted
    } catch {
      throw .store(error)
    }
  }

  /// What waited for an answer has ended with the process.
  private func withdrawDecisions() async throws(StoreError) {
    var change = StoreChange()
    change.withdrawsDecisions = true
    try await store.write(change)
  }

  /// A delegate that was asked about a begin date is not asked again: suspended tasks begin when they are resumed.
  private func recoverBeginnings() async throws(StoreError) {
    let sessions = registry.withLock { registry in
      Set(
        registry.tasks.values.filter { entry in
          guard entry.task.earliestBeginDate != nil, !entry.isSubmitted || entry.isUncertain else {
            return false
          }
          let session = registry.sessions[entry.task.sessionID]?.session
          return session?.delegate(of: entry.task)?.asksForDelayedRequests == true
        }.map(\.task.sessionID))
    }
    for session in sessions {
      for state in [Decision.State.answered, .expired] {
        try await forEachDecision(of: session, state) { decision, registry in
          guard decision.type == .taskWillBeginDelayedRequest else { return }
          registry.tasks[decision.taskID]?.hasBegun = true
        }
      }
    }
  }

  func forEachDecision(
    of session: SessionID, _ state: Decision.State, _ body: (Decision, inout TransferRegistry) -> Void
  ) async throws(StoreError) {
    var last: DecisionID?
    while true {
      let page = try await store.decisions(of: session, state: state, after: last, limit: 500)
      guard let final = page.last else { return }
      last = final.id
      registry.withLock { registry in
        for decision in page { body(decision, &registry) }
      }
    }
  }

  private func recoverSessions() async throws(StoreError) {
    var stored = try await store.sessions()
    let isSharedUnreadable = store.unreadable.row("session", SessionID.shared) != nil
    if !isSharedUnreadable, !stored.contains(where: { $0.session.id == .shared }) {
      var change = StoreChange()
      change.sessions = [.shared(.shared, of: .default)]
      try await store.write(change)
      stored.append((change.sessions[0], 0))
    }
    let sessions = stored
    registry.withLock { registry in
      for (session, last) in sessions {
        registry.sessions[session.id] = .init(session: session, lastIdentifier: last)
        if session.type == .background, session.state != .invalid { background?.take(session.id) }
        registry.background.restore(session)
        openHandover(of: session)
      }
    }
    try await recoverHandovers()
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

  private func recoverTasks() async throws(StoreError) -> Int {
    var interrupted = 0
    var last: TaskID?
    while true {
      let page = try await store.unfinishedTasks(after: last, limit: 500)
      guard let final = page.last else { break }
      last = final.id
      interrupted += registry.withLock { recover(page, &$0) }
    }
    // A session that was being invalidated when the process died, with no task left to end it.
    registry.withLock { registry in
      for (id, entry) in registry.sessions where entry.session.state == .invalidating && entry.unfinished == 0
      {
        registry.sessions[id]?.session.state = .invalid
        registry.sessions[id]?.session.owesFinishedEvents = false
        if let session = registry.sessions[id]?.session { retire(session) }
      }
    }
    finishEventsAfterRecovery()
    return interrupted
  }

  private func recover(_ tasks: [TransferTask], _ registry: inout TransferRegistry) -> Int {
    var interrupted = 0
    for var task in tasks {
      // What belongs to a session that cannot be read waits with it.
      guard store.unreadable.row("session", task.sessionID) == nil else { continue }
      if let background, background.has(task.sessionID) {
        takeUp(task, &registry)
        continue
      }
      task.partial = salvage(task)
      // Nobody goes on with what is still there.
      bodies.removeTemporary(task.id)
      registry.insert(.init(task: task))
      registry.sessions[task.sessionID]?.unfinished += 1
      switch task.state {
      case .running where task.startedAt == nil && task.earliestBeginDate.map { $0 > now } == true:
        // Nothing of it is lost: it waits for its date, as it did.
        registry.tasks[task.id]?.task.phase = .queued
        var change = StoreChange()
        launch([task.id], &registry, &change)
        recordAny(change)
      case .running:
        interrupted += 1
        let message = "the service stopped while the task was running"
        var outcome = task.outcome(.networkConnectionLost, message, at: now)
        outcome.partial = task.partial ?? outcome.partial
        outcome.error?.resumeDataAvailable = outcome.partial != nil
        end(&registry, task, outcome)
      case .canceling: end(&registry, task, task.outcome(.cancelled, "cancelled", at: now))
      case .suspended, .completed: break
      }
    }
    return interrupted
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

  /// What sessions had stored that are over.
  private func removeOrphanedCaches() {
    let alive = registry.withLock { registry in
      registry.sessions.values.filter { $0.session.state != .invalid }.map(\.session.id)
    }
    let unreadable = store.unreadable.rows(of: "session").compactMap { SessionID($0.id) }
    engine.caches?.removeOrphans(keeping: Set(alive + unreadable))
  }
}

internal import Logging
internal import Synchronization
internal import TransferEngine
internal import TransferModel
package import TransferStore

/// How it begins, and how it hands its tasks over.
extension BackgroundWorker {
  /// Takes up what an earlier process left, and then what waits. Called once.
  /// - Parameter afterCrash: the earlier process died by its own fault, and perhaps by one of its tasks.
  package func start(afterCrash hasCrashed: Bool) async throws(StoreError) {
    state.withLock { $0.isCareful = hasCrashed }
    try await loadSessions()
    for stored in try await store.credentials() where isMine(stored.session) {
      engine.credentials.set(stored.credential, for: stored.space, in: stored.session)
    }
    for (session, cookies) in Dictionary(grouping: try await store.cookies(), by: \.session)
    where isMine(session) {
      engine.cookies.restore(cookies.map(\.cookie), of: session, now: now())
    }
    try await takeOver(afterCrash: hasCrashed)
    state.withLock { $0.hasStarted = true }
    // Who was suspended or cancelled while there was no worker is not begun first.
    try await readCommands()
    let left = refused.withLock { $0.count }
    state.withLock { state in
      var change = StoreChange()
      change.tell(.refused(count: left))
      startSuspects(&state, &change)
      record(change, &state)
    }
  }

  /// The service does not wait for longer than that takes.
  private static let rowsAtOnce = 500

  private func isMine(_ session: SessionID) -> Bool { state.withLock { $0.sessions[session] != nil } }

  private func takeOver(afterCrash hasCrashed: Bool) async throws(StoreError) {
    let found = try await store.work()
    var tasks: [TaskID: TransferTask] = [:]
    for task in try await store.tasks(found.map(\.task)) { tasks[task.id] = task }
    var change = StoreChange()
    var ready: [TaskID] = []
    state.withLock { state in
      for stored in found {
        guard var task = tasks[stored.task], let session = state.sessions[stored.session] else {
          // What cannot be read may be mended, and gone on with.
          if !isUnreadable(stored.task, stored.session) { change.finishedWork.append(stored.task) }
          continue
        }
        guard let kept = read(stored) else { continue }
        if let request = kept.request { task.currentRequest = request }
        var work = takenOver(Work(task: task, session: session, state: kept), hasCrashed)
        state.work[task.id] = work
        guard kept.cancellation == nil else {
          endCancelled(work, &state, &change)
          continue
        }
        if kept.isActive, mustCount(work) {
          guard countLost(&work, &state, &change) else { continue }
          state.work[task.id] = work
        } else if kept.isActive {
          work.state.attempts -= 1
          state.work[task.id] = work
          change.tell(.wasTakenOver(task.id, at: now()))
        }
        let least = work.state.crashesOften ? CrashGuard.suspicion : 0
        state.suspects.recovered(task.id, deaths: max(least, work.state.deaths))
        change.keep(work)
        ready.append(task.id)
      }
    }
    // That somebody died over a task must be known to whoever comes after the next death. What is told goes first: it may be told twice.
    var rows = change.work[...]
    change.work = []
    try await store.write(change)
    while !rows.isEmpty {
      var part = StoreChange()
      part.work = Array(rows.prefix(Self.rowsAtOnce))
      rows = rows.dropFirst(Self.rowsAtOnce)
      try await store.write(part)
    }
    if !found.isEmpty { logger.notice("took over", metadata: ["tasks": "\(ready.count)"]) }
  }

  func isUnreadable(_ task: TaskID, _ session: SessionID) -> Bool {
    store.unreadable.row("task", task) != nil || store.unreadable.row("session", session) != nil
      || store.unreadable.row("work", task) != nil
  }

  /// nil where another version wrote it: the row stays, and the task waits for a process that can read it. To begin it anew might
  /// send it twice.
  private func read(_ stored: StoredWork) -> WorkState? {
    do throws(WorkerDocument.Refusal) {
      return try WorkerDocument.decode(WorkState.self, stored.document)
    } catch {
      refused.withLock { $0.refuse(DocumentSubject(stored.task)) }
      logger.error(
        "how far a task has come cannot be read: it is kept, and waits until a process starts that can",
        metadata: ["task": "\(stored.task)", "reason": "\(error)"])
      return nil
    }
  }

  /// What an earlier process left of a task.
  private func takenOver(_ work: Work, _ hasCrashed: Bool) -> Work {
    var work = work
    if var point = work.state.partial?.download {
      if point.source == work.task.id {
        point.partial.offset = bodies.salvage(work.task.id)
        work.state.partial = point.partial.offset > 0 ? .download(point) : nil
      } else {
        bodies.returnClaim(of: point, from: work.task.id)
      }
    }
    if work.state.isActive {
      if hasCrashed {
        work.state.deaths += 1
        work.state.crashes += 1
      }
      work.state.isActive = false
    }
    if let date = work.state.retryAt {
      // The clock may have been set meanwhile.
      let left = min(max(0, date.since(now())), work.state.retryDelay ?? 0)
      work.notBefore = alarms.now() + .seconds(left)
    }
    return work
  }

  /// Starts what may be started after a death, and ends what has been deadly too often.
  func startSuspects(_ state: inout State, _ change: inout StoreChange) {
    var actions = state.suspects.next()
    while !actions.isEmpty {
      // One that cannot begin now leaves its turn to the next.
      defer { actions = state.suspects.next() }
      for action in actions { carryOut(action, &state, &change) }
    }
  }

  private func carryOut(_ action: CrashGuard.Action, _ state: inout State, _ change: inout StoreChange) {
    switch action {
    case .start(let id): admit(id, isTried: true, &state, &change)
    case .fail(let id, let deaths):
      guard let work = state.work[id] else { return }
      var outcome = TransferService.outcome(of: work.task, .unknown, "", at: now())
      outcome.error = TransferError(
        .attemptLimitReached,
        "the worker crashed \(deaths) times while it carried the task out",
        failingURL: work.task.currentRequest.url)
      outcome.partial = work.state.partial
      outcome.error?.resumeDataAvailable = work.state.partial != nil
      end(id, outcome, &state, &change)
    }
  }

  /// Stops every transfer, each with what it has got on the disk and in its row, so that another process goes on from there.
  package func drain() async {
    await withCheckedContinuation { continuation in
      state.withLock { state in
        state.isDraining = true
        for work in state.active.compactMap({ state.work[$0] }) {
          engine.cancel(work.task.id, in: work.session.id, keepsPartial: true)
        }
        state.whenIdle.append { continuation.resume() }
        tellIdle(&state)
      }
    }
    await withCheckedContinuation { continuation in
      // Whoever told the last end may still be within the lock, and is to write it first.
      state.withLock { _ in store.record(StoreChange()) { continuation.resume() } }
    }
  }
}

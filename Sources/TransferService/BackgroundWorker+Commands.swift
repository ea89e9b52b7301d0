internal import HTTPCookies
internal import Logging
internal import Synchronization
internal import TransferEngine
internal import TransferModel
internal import TransferStore

/// What the service asks for.
extension BackgroundWorker {
  func take(_ rows: [Queued<StoredCommand>]) async throws(StoreError) {
    let found = rows.map {
      RefusedDocuments.Row(number: $0.number, document: $0.content.document, session: $0.content.session)
    }
    let tasks: [TaskID: TransferTask]
    do throws(StoreError) {
      tasks = try await submitted(found)
      if rows.contains(where: { !knows($0.content.session) }) { try await loadSessions() }
    } catch {
      logger.error("tasks cannot be read", metadata: ["error": "\(error)"])
      throw error
    }
    // By now it is known which of them cannot be read: they may be mended, and handed over then.
    let (commands, left) = refused.withLock {
      ($0.read(WorkerCommand.self, found, where: store.unreadable.isDamaged), $0.count)
    }
    logger.note(commands, "commands")
    state.withLock { state in
      var change = StoreChange()
      for (row, command) in commands.values {
        guard let session = row.session else { continue }
        carryOut(command, session, tasks, &state, &change)
      }
      change.takenCommands = commands.taken
      if commands.kept > 0 { change.tell(.refused(count: left)) }
      record(change, &state)
    }
  }

  /// The tasks that are handed over.
  private func submitted(_ found: [RefusedDocuments.Row]) async throws(StoreError) -> [TaskID: TransferTask] {
    let ids = found.compactMap { row -> TaskID? in
      guard case .submit(let task)? = try? WorkerDocument.decode(WorkerCommand.self, row.document) else {
        return nil
      }
      return task
    }
    return Dictionary(try await store.tasks(ids).map { ($0.id, $0) }, uniquingKeysWith: { $1 })
  }

  private func knows(_ session: SessionID) -> Bool { state.withLock { $0.sessions[session] != nil } }

  func loadSessions() async throws(StoreError) {
    let all = try await store.sessions()
    state.withLock { state in
      for (session, _) in all where session.type == .background { state.sessions[session.id] = session }
    }
  }

  private func carryOut(
    _ command: WorkerCommand, _ session: SessionID, _ tasks: [TaskID: TransferTask], _ state: inout State,
    _ change: inout StoreChange
  ) {
    switch command {
    case .submit(let id):
      guard state.work[id] == nil, let task = tasks[id], task.state != .completed,
        let session = state.sessions[session], !isUnreadable(id, session.id)
      else { return }
      var work = Work(task: task, session: session)
      work.state.request = task.currentRequest
      work.state.partial = task.partial ?? task.resumePoint
      state.work[id] = work
      change.keep(work)
      admit(id, &state, &change)
    case .suspend(let id): suspend(id, &state, &change)
    case .resume(let id): resume(id, &state, &change)
    case .cancel(let id, let keepsPartial): cancel(id, keepsPartial, &state, &change)
    case .answer(let id, let answer, let question):
      take(.challenge(answer), to: question, of: id, keeping: answer, &state, &change)
    case .answerByDefault(let id, let question):
      take(.byDefault, to: question, of: id, keeping: .performDefaultHandling, &state, &change)
    case .setPriority(let id, let priority):
      state.work[id]?.task.priority = priority
      engine.setPriority(priority, of: id, in: session)
    case .setLimit(let id, let limit):
      state.work[id]?.task.maximumBytesPerSecond = limit
      engine.setLimit(limit, of: id, in: session)
    case .setBeginDate(let id, let date):
      state.work[id]?.task.earliestBeginDate = date
      admit(id, &state, &change)
    case .keepCredential(let credential, let space): engine.keep(credential, for: space, in: session)
    case .forgetCredentials(let spaces):
      engine.credentials.remove(in: session) { spaces.contains($0.space) }
      engine.forgetCredentials(of: session, for: spaces)
    case .setCookies(let cookies): engine.cookies.set(cookies, in: session)
    case .removeCookies(let filter): engine.cookies.remove(filter, of: session)
    case .reset:
      engine.credentials.remove(in: session) { _ in true }
      engine.reset(session) {}
    case .flush: engine.flush(session) {}
    case .forget:
      engine.credentials.remove(in: session) { _ in true }
      engine.forget(session)
      state.sessions[session] = nil
    }
  }

  /// Hands an answer to whoever asked, and keeps it for the next attempt. What crosses another question is for nobody.
  private func take(
    _ answer: TransferAnswer, to number: Int?, of id: TaskID, keeping kept: ChallengeAnswer,
    _ state: inout State, _ change: inout StoreChange
  ) {
    guard var work = state.work[id], let question = work.state.question, work.state.waits(for: number) else {
      logger.notice(
        "an answer is dropped: its question is not the one that waits",
        metadata: ["task": "\(id)", "question": "\(number ?? 0)"])
      return
    }
    work.state.question = nil
    work.state.answers.append(AnsweredChallenge(challenge: question, answer: kept))
    work.repeated.append(question)
    state.work[id] = work
    change.keep(work)
    engine.answer(id, in: work.session.id, to: work.state.questions, answer)
  }

  private func suspend(_ id: TaskID, _ state: inout State, _ change: inout StoreChange) {
    guard let work = state.work[id], !work.state.isSuspended else { return }
    state.work[id]?.state.isSuspended = true
    state.work[id]?.state.suspendedAt = now()
    if let work = state.work[id] { change.keep(work) }
    guard work.isActive else { return }
    engine.suspend(id, in: work.session.id)
    // Nobody waits for one that does nothing.
    if state.busy.remove(id) != nil { reviewDiscretionary(&state, &change) }
  }

  private func resume(_ id: TaskID, _ state: inout State, _ change: inout StoreChange) {
    guard let work = state.work[id], work.state.isSuspended else { return }
    state.work[id]?.state.resume(at: now())
    if let work = state.work[id] { change.keep(work) }
    guard work.isActive else { return admit(id, &state, &change) }
    guard !state.yielding.contains(id) else { return }
    if !work.isDiscretionary {
      state.busy.insert(id)
      holdDiscretionary(&state)
    }
    engine.resume(id, in: work.session.id)
  }

  private func cancel(_ id: TaskID, _ keepsPartial: Bool, _ state: inout State, _ change: inout StoreChange) {
    guard state.work[id]?.state.cancellation == nil else { return }
    state.work[id]?.state.cancellation = keepsPartial ? .keepingPartial : .droppingPartial
    guard let work = state.work[id] else { return }
    guard work.isActive else { return endCancelled(work, &state, &change) }
    change.keep(work)
    engine.cancel(id, in: work.session.id, keepsPartial: keepsPartial)
  }

  /// The end of a task that was cancelled while nobody carried it out.
  func endCancelled(_ work: Work, _ state: inout State, _ change: inout StoreChange) {
    var outcome = TransferService.outcome(of: work.task, .cancelled, "cancelled", at: now())
    if work.state.cancellation == .keepingPartial, let partial = work.state.partial {
      outcome.partial = partial
      outcome.error?.resumeDataAvailable = true
    } else if work.state.partial?.download?.source == work.task.id {
      engine.onPool { [bodies] in bodies.removePartial(work.task.id) }
    }
    end(work.task.id, outcome, &state, &change)
  }

  /// The cookies of a session are others now: for the next of these processes, and for the service.
  func cookiesChanged(_ session: SessionID, _ changes: [CookieJar.Change]) {
    var change = StoreChange()
    change.cookies = changes.map { (session, $0) }
    change.tell(.changedCookies(session, changes))
    record(change)
  }
}

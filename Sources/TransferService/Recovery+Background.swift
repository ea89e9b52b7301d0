internal import JSON
internal import Synchronization
internal import TransferEngine
internal import TransferModel
internal import TransferStore

/// What the process that carries background tasks out has of them.
struct BackgroundWork {
  var states: [TaskID: WorkState] = [:]
  /// Their commands wait, or their end is among the news.
  var known: Set<TaskID> = []

  func has(_ task: TaskID) -> Bool { states[task] != nil || known.contains(task) }
}

/// Background tasks go on while the service is away: it takes them up as they are now.
extension TransferService {
  func recoverWork() async throws(StoreError) -> BackgroundWork {
    var found = BackgroundWork()
    guard background?.isNeeded == true else { return found }
    // In the order in which a task passes through them: none slips by between two of the readings.
    try await forEachRow(store.commands) { row in
      if case .submit(let task) = WorkerDocument.decode(WorkerCommand.self, row.document) {
        found.known.insert(task)
      }
    }
    for work in try await store.work() {
      found.states[work.task] = WorkerDocument.decode(WorkState.self, work.document) ?? WorkState()
    }
    try await forEachRow(store.news) { row in
      if case .ended(let task, _) = WorkerDocument.decode(WorkerNews.self, row) { found.known.insert(task) }
    }
    return found
  }

  private func forEachRow<Content>(
    _ page: (_ after: Int64, _ limit: Int) async throws(StoreError) -> [Queued<Content>],
    _ body: (Content) -> Void
  ) async throws(StoreError) {
    var number: Int64 = 0
    while true {
      let rows = try await page(number, 500)
      guard let last = rows.last else { return }
      for row in rows { body(row.content) }
      number = last.number
    }
  }

  /// Those but for the unfinished tasks that another process carries out: their files are that process's.
  func notElsewhere(_ tasks: [TaskID]) -> [TaskID] {
    guard let background else { return tasks }
    return registry.withLock { registry in
      tasks.filter { registry.tasks[$0].map { !background.has($0.task.sessionID) } ?? true }
    }
  }

  /// A background task that has not ended, as far as this process knows.
  func takeUp(_ task: TransferTask, _ elsewhere: BackgroundWork, _ registry: inout TransferRegistry) {
    var task = task
    let isThere = elsewhere.has(task.id)
    let state = elsewhere.states[task.id]
    if task.state == .running {
      // Where it is under way its row says more.
      let underWay: TaskPhase? = task.startedAt == nil ? .queued : task.phase
      task.phase = state?.isActive == true ? underWay ?? .transferring : state?.phase ?? .queued
    }
    registry.tasks[task.id] = .init(task: task, isSubmitted: isThere)
    registry.tasks[task.id]?.waitsToRetry = state?.phase == .waitingToRetry
    registry.sessions[task.sessionID]?.unfinished += 1
    if task.state == .canceling, !isThere {
      end(&registry, task, Self.outcome(of: task, .cancelled, "cancelled", at: now))
    } else if isThere {
      reconcile(task, state)
    }
  }

  /// A command whose cause was written and itself was not, as the process died in between, is sent again: each changes nothing
  /// where it is known.
  private func reconcile(_ task: TransferTask, _ state: WorkState?) {
    switch task.state {
    case .canceling where state?.cancellation == nil:
      background?.cancel(task.id, in: task.sessionID, keepsPartial: false)
    case .suspended where state?.isSuspended == false: background?.suspend(task.id, in: task.sessionID)
    case .running where state?.isSuspended == true: background?.resume(task.id, in: task.sessionID)
    default: break
    }
  }

  /// Once everything else is in its place: questions that still wait, what was told meanwhile, and tasks that were created but
  /// not handed over.
  func goOnElsewhere() async throws(StoreError) {
    guard background?.isNeeded == true else { return }
    try await recoverQuestions()
    try await news.readAll()
    registry.withLock { registry in
      let waiting = registry.tasks.values.filter {
        $0.task.state == .running && !$0.isSubmitted && !$0.isEnding
          && background?.has($0.task.sessionID) == true
      }
      for (_, entries) in Dictionary(grouping: waiting, by: \.task.sessionID) {
        launch(entries.map(\.task.id), &registry)
      }
    }
    background?.ring()
  }

  /// Decisions of tasks that are carried out elsewhere can still be answered.
  private func recoverQuestions() async throws(StoreError) {
    let sessions = registry.withLock { registry in
      registry.sessions.values.map(\.session.id).filter { background?.has($0) == true }
    }
    for session in sessions {
      try await forEachDecision(of: session, .pending) { recover($0, &$1) }
    }
  }

  private func recover(_ decision: Decision, _ registry: inout TransferRegistry) {
    let method = (try? JSONParser.parse(decision.arguments))?["protectionSpace"]?["authenticationMethod"]?
      .string
      .flatMap { AuthenticationMethod(rawValue: $0) }
    let kind: TransferRegistry.Question.Kind? =
      decision.type == .taskWillBeginDelayedRequest ? .delayedRequest : method.map { .challenge($0) }
    guard let kind, registry.tasks[decision.taskID]?.isEnding == false else {
      var change = StoreChange()
      var withdrawn = decision
      withdrawn.state = .withdrawn
      change.updatedDecisions = [withdrawn]
      return record(change)
    }
    registry.tasks[decision.taskID]?.question = .init(decision: decision, kind: kind)
    if registry.tasks[decision.taskID]?.task.state == .running {
      registry.tasks[decision.taskID]?.task.phase = .waitingForDecision
    }
    if case .delayedRequest = kind { registry.tasks[decision.taskID]?.hasBegun = true }
    registry.decisions[decision.id] = decision.taskID
    expireLater(decision)
  }
}

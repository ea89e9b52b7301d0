internal import JSON
internal import Synchronization
internal import TransferCore
internal import TransferEngine
internal import TransferModel
internal import TransferStore

/// Background tasks go on while the service is away: it takes them up as they are now.
extension TransferService {
  /// Rows that are read at one time.
  private static let page = 500

  /// A background task that has not ended, as far as this process knows. Whether the other process has it is yet to be found out;
  /// until then it is taken for one that has been handed over, since that must not happen twice.
  func takeUp(_ task: TransferTask, _ registry: inout TransferRegistry) {
    var task = task
    if task.state == .running { task.phase = task.startedAt == nil ? .queued : task.phase ?? .transferring }
    registry.insert(.init(task: task, isSubmitted: true, isUncertain: true))
    registry.sessions[task.sessionID]?.unfinished += 1
  }

  /// Finds out how far the other process has come, beside serving: what it has, what it has told, and which tasks were created but
  /// not handed over. What it tells later is heard from then on. Called once, after `recover`; again where it fails.
  package func catchUp() async throws(ServiceError) {
    do throws(StoreError) {
      if background?.isNeeded == true {
        // In the order in which a task passes through them: none slips by between two of the readings.
        let commands = try await submittedTasks()
        let work = try await recoverWork()
        refused.withLock { $0.byWorker = commands.unread + work.unread }
        if let last = try await store.lastNews() { try await news.readAll(through: last) }
        // Whoever cannot read how far a task has come, or what was told of it, must not begin it anew.
        let told = refused.withLock { $0.news.subjects.map(\.subject.task) }
        goOnElsewhere(commands.known.union(work.known).union(told))
      }
    } catch {
      throw .store(error)
    }
    hasCaughtUp.store(true, ordering: .releasing)
    lookForNews()
    background?.ring()
  }

  /// Tasks that the other process has, or that nobody can say of that it has not; and how many documents cannot be read.
  private typealias Elsewhere = (known: Set<TaskID>, unread: Int)

  /// Those whose commands wait.
  private func submittedTasks() async throws(StoreError) -> Elsewhere {
    var found: Elsewhere = ([], 0)
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

  private func recoverWork() async throws(StoreError) -> Elsewhere {
    let damaged = store.unreadable.rows(of: "work").compactMap { TaskID($0.id) }
    var found: Elsewhere = (Set(damaged), 0)
    var last: TaskID?
    while true {
      let page = try await store.work(after: last, limit: Self.page)
      guard let final = page.last else { return found }
      last = final.task
      var states: [(TaskID, WorkState)] = []
      for work in page {
        do throws(WorkerDocument.Refusal) {
          states.append((work.task, try WorkerDocument.decode(WorkState.self, work.document)))
        } catch {
          found.unread += 1
          found.known.insert(work.task)
        }
      }
      let read = states
      registry.withLock { registry in
        for (task, state) in read { isThere(task, state, &registry) }
      }
    }
  }

  /// The other process has the task, and has come so far with it.
  private func isThere(_ id: TaskID, _ state: WorkState, _ registry: inout TransferRegistry) {
    guard let entry = registry.tasks[id], entry.isUncertain, !entry.isEnding else { return }
    registry.tasks[id]?.isUncertain = false
    registry.tasks[id]?.waitsToRetry = state.phase == .waitingToRetry
    // Where it is under way its row says more.
    if entry.task.state == .running, entry.question == nil, !state.isActive {
      registry.tasks[id]?.task.phase = state.phase
    }
    reconcile(entry.task, state)
  }

  /// A command whose cause was written and itself was not, as the process died in between, is sent again: each changes nothing
  /// where it is known.
  private func reconcile(_ task: TransferTask, _ state: WorkState?) {
    guard let background else { return }
    var change = StoreChange()
    switch task.state {
    case .canceling where state?.cancellation == nil:
      background.cancel(task.id, in: task.sessionID, keepsPartial: false, into: &change)
    case .suspended where state?.isSuspended == false:
      background.suspend(task.id, in: task.sessionID, into: &change)
    case .running where state?.isSuspended == true:
      background.resume(task.id, in: task.sessionID, into: &change)
    default: break
    }
    recordAny(change)
  }

  /// Tasks that are nowhere, and whose end was not told, were created but not handed over.
  /// - Parameter waiting: those whose commands the other process is yet to read.
  private func goOnElsewhere(_ waiting: Set<TaskID>) {
    registry.withLock { registry in
      var ready: [TransferTask] = []
      for entry in registry.tasks.values.filter(\.isUncertain) {
        let id = entry.task.id
        registry.tasks[id]?.isUncertain = false
        guard !waiting.contains(id), !entry.isEnding else { continue }
        registry.tasks[id]?.isSubmitted = false
        switch entry.task.state {
        case .running: ready.append(entry.task)
        case .canceling:
          end(&registry, entry.task, entry.task.outcome(.cancelled, "cancelled", at: now))
        case .suspended, .completed: break
        }
      }
      for (_, tasks) in Dictionary(grouping: ready, by: \.sessionID) {
        var change = StoreChange()
        launch(tasks.map(\.id).sorted(), &registry, &change)
        recordAny(change)
      }
    }
  }

  /// Decisions of tasks that are carried out elsewhere can still be answered.
  func recoverQuestions() async throws(StoreError) {
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

package import TransferModel

/// The state machine of a session and its unfinished tasks. A plain value.
///
/// The machine has no clock, no lock and no file, and never waits. Its owner passes inputs one at a time, and executes the resulting
/// effects in order.
package struct SessionMachine: Sendable {
  package internal(set) var session: TransferSession
  var tally: TaskCounter
  package internal(set) var tasks = TaskTable()
  /// Whether invalidateAndCancel() was called. Tasks still in creation are then cancelled, too.
  var cancelsTasks = false
  var continued = DownloadReplacements()
  /// The pending messages of a background session that is not invalid.
  var pendingDeliveries: PendingDeliveries?
  /// Whether the session, with all tasks still to come, is being handed over to another service.
  private var isLeaving = false
  /// The bytes of client-chosen texts up to which a waiting task stays in memory.
  let residentBytes: Int
  private var submissions: SubmissionQueue
  /// The tasks that the current input has changed.
  private var changed: [TaskID] = []
  /// Whether recovery has ended. A new session ends its recovery at once.
  private var isRecovered = false
  /// Recovered tasks that were running or being cancelled.
  var interrupted: [TaskID] = []
  /// The evictions that the current input has made possible.
  private var evictions: [Eviction] = []

  /// - Parameters:
  ///   - lastIdentifier: the highest taskIdentifier that an earlier service assigned.
  ///   - limit: the limit of unfinished tasks.
  ///   - residentBytes: the bytes of client-chosen texts up to which a waiting task stays in memory.
  ///   - submittedBytes: the limit, in bytes, for the texts and bodies of all submitted large tasks.
  package init(
    _ session: TransferSession, lastIdentifier: Int = 0, limit: Int, residentBytes: Int = 1024,
    submittedBytes: Int = .max
  ) {
    submissions = SubmissionQueue(smallSize: 4 * residentBytes, capacity: submittedBytes)
    // Even small tasks are evicted, so that the machine can be reduced to an outline.
    self.residentBytes = session.isLarge ? 0 : residentBytes
    self.session = session
    tally = TaskCounter(lastIdentifier: lastIdentifier, limit: limit)
    if session.type == .background, session.state != .invalid { pendingDeliveries = PendingDeliveries() }
  }

  /// The highest taskIdentifier assigned so far.
  package var lastIdentifier: Int { tally.lastIdentifier }
  /// The number of unfinished tasks.
  package var unfinished: Int { tally.unfinished }

  /// Returns the task in its current state; `nil` if it has ended, is evicted, or never existed.
  package func task(_ id: TaskID) -> TaskMachine? { tasks[id] }

  /// Returns whether clients may not see the response that a task is receiving, because another attempt may follow.
  package func hidesResponse(of id: TaskID) -> Bool {
    tasks.read(id) { $0.task.retryProgress != nil && $0.retryPolicy(session) != nil } ?? false
  }

  /// The unfinished tasks, in the order of their creation.
  package var unfinishedIDs: [TaskID] { tasks.ids }

  /// The unfinished tasks that are in memory.
  package var residentTasks: [TransferTask] { tasks.ids.compactMap { tasks[$0]?.task } }

  /// The timer changes that cancel every timer of the session before it continues at another service.
  package var cancelledAlarms: [SessionEffects.TimerChange] {
    tasks.ids.flatMap { id -> [SessionEffects.TimerChange] in
      let question = tasks[id]?.question.map {
        SessionEffects.TimerChange.cancelDecision($0.decision, of: id)
      }
      let window = tasks[id]?.task.retryProgress.map { _ in
        SessionEffects.TimerChange.cancelCrashWindow(id)
      }
      return [question, .cancelBegin(id), window].compactMap { $0 }
    }
  }

  /// Whether no task is submitted or about to be, so that any service can continue the session.
  package var isQuiet: Bool { tasks.areIdle && !submissions.hasCall }

  /// Whether every message of a background session was delivered.
  package var hasDeliveredAll: Bool { pendingDeliveries?.isDone ?? true }

  /// Reduces a large session to its outline if all of its tasks are evicted. The owner calls this at the end of each update.
  /// - Precondition: the session's row is written, or about to be.
  package mutating func reduceToOutline() {
    guard session.isLarge, !session.isOutline, isRecovered, session.type != .ephemeral,
      unfinished == tasks.evicted.count, !session.owesFinishedEvents, hasDeliveredAll,
      // A session that is being cancelled loads its tasks one after the other.
      !cancelsTasks || unfinished == 0
    else { return }
    session = session.outline
  }

  package mutating func handle(
    _ input: SessionInput, at now: InputContext, into effects: inout SessionEffects
  )
    -> InputResult
  {
    #if DEBUG
      if let injector = InjectedFault.injector {
        return injector.handle(input, at: now, into: &effects, by: &self)
      }
    #endif
    return decide(input, at: now, into: &effects)
  }

  mutating func decide(_ input: SessionInput, at now: InputContext, into effects: inout SessionEffects)
    -> InputResult
  {
    assert(effects.session == session.id)
    effects.isLeaving = isLeaving
    swap(&effects.submissions, &submissions)
    defer { swap(&effects.submissions, &submissions) }
    let mark = (effects.ended.count, effects.newDecisions.count, effects.messages.count)
    let reply = apply(input, at: now, into: &effects)
    if session.type == .background {
      wakeClientIfNeeded(ended: mark.0, asked: mark.1, at: now, into: &effects)
      for message in effects.messages[mark.2...] { pendingDeliveries?.queue(message.id) }
    }
    for id in changed {
      _ = tasks.read(id) { effects.submissions.note($0, session, at: now) }
    }
    changed.removeAll(keepingCapacity: true)
    if !isLeaving, let next = effects.submissions.callNext() {
      effects.timers.append(.begin(next, at: Timestamp(microseconds: 0)))
    }
    if !evictions.isEmpty {
      effects.evictions += evictions
      evictions = []
    }
    return reply
  }

  private mutating func apply(_ input: SessionInput, at now: InputContext, into effects: inout SessionEffects)
    -> InputResult
  {
    switch input {
    case .restore(let row): session = session.completed(from: row)
    case .create(let wanted): return create(wanted, at: now, into: &effects)
    case .created(let ids): self.created(ids, at: now, into: &effects)
    case .refused(let ids, let messages):
      for message in messages { _ = pendingDeliveries?.settle(message) }
      for id in ids { _ = tasks.remove(id) }
      effects.forgotten += ids
      release(ids.count, at: now, into: &effects)
    case .resume(let id): return verb(id) { $0.resume($1, at: now, into: &effects) }
    case .suspend(let id): return verb(id) { $0.suspend($1, at: now, into: &effects) }
    case .cancel(let id, let keepsPartial):
      return verb(id) { $0.cancel(keepsPartial: keepsPartial, $1, at: now, into: &effects) }
    case .retryNow(let id): return verb(id) { $0.retryNow($1, at: now, into: &effects) }
    case .change(let id, let patch):
      if patch.request != nil, let refusal = requestChangeRefusal(of: id) {
        return .refused(.requestInUse(refusal))
      }
      let hasRoom = tasks.read(id) {
        effects.submissions.hasRoom(for: patch.applied(to: $0.task), inPlaceOf: $0)
      }
      guard hasRoom != false else { return .refused(.noRoom) }
      return verb(id) { $0.change(patch, $1, at: now, into: &effects) }
    case .answer(let id, let decision, let answer, let shown, let tag):
      return self.answer(id, decision, answer, shown, tag, at: now, into: &effects)
    case .rejectAnswer(let id, let decision, let reason):
      change(id) { $0.rejectAnswer(to: decision, reason, $1, at: now, into: &effects) }
    case .offer(let id, let body, let length):
      return offer(body, length: length, of: id, at: now, into: &effects)
    case .withdraw(let id, let body): tasks.change(id) { $0.withdraw(body) }
    case .invalidate: return invalidate(at: now, into: &effects)
    case .cancelTasks(let ids): cancel(ids, at: now, into: &effects)
    case .fact(let fact): change(continued.subject(of: fact)) { $0.handle(fact, $1, at: now, into: &effects) }
    case .placement(let id, let report):
      change(id) { $0.handle(report, $1, at: now, into: &effects) }
    case .decisionExpired(let id, let decision):
      change(id) { $0.expire(decision, $1, at: now, into: &effects) }
    case .begin(let id):
      change(id) { [cancelsTasks] machine, session in
        if cancelsTasks, !machine.isCreating {
          machine.cancel(keepsPartial: false, session, at: now, into: &effects)
        } else {
          machine.startIfReady(session, at: now, into: &effects)
        }
      }
      effects.submissions.endCall(of: id)
      // The task's row could not be read. Try again in a minute.
      if tasks.isEvicted(id) { effects.timers.append(.begin(id, at: now.wall.adding(seconds: 60))) }
    case .trialBegan(let id):
      guard tasks.contains(id) else { return .ended }
      change(id) { machine, session in
        machine.change { $0.isOnTrial = true }
        machine.startIfReady(session, at: now, into: &effects)
        // A task that cannot start now makes room for the next.
        if machine.executionState != .executing { machine.endTrial(into: &effects) }
      }
    case .crashWindowPassed(let id): change(id) { machine, _ in machine.crashWindowPassed(into: &effects) }
    case .endsCommitted(let ids): endHolds(ids, at: now, into: &effects)
    case .evict(let evictions): for eviction in evictions { tasks.evict(eviction) }
    case .load(let task):
      assert(!session.isOutline)
      if tasks.load(task) { change(task.id) { _, _ in } }
    case .settled(let deliveries): settled(deliveries, at: now, into: &effects)
    case .attempts(let delivery): pendingDeliveries?.attempt(delivery)
    case .prepareHandover:
      // The worker runs background tasks, regardless of the service that owns the session.
      guard session.type != .background else { break }
      isLeaving = true
      for id in tasks.ids {
        change(id) { machine, session in
          if machine.executionState == .executing, machine.canRetryElsewhere(session) {
            // The engine of the other service will request the decision again.
            let wasAsked = machine.settle(.withdrawn, session, at: now.wall, into: &effects) != nil
            if wasAsked { machine.task.enter(machine.task.usualPhase, at: now.wall, session, into: &effects) }
            machine.leave()
            effects.send(.cancel(keepsPartial: true), of: id)
          }
          // A client that waits to send the body is redirected to the other service.
          if let body = machine.upload.removeOffered() { effects.droppedUploads.append(body) }
        }
      }
    case .recoveredAll:
      isRecovered = true
      recover(input, at: now, into: &effects)
    case .recovered, .beginApproved, .recoverDecision, .isAtWorker, .workerTasksKnown:
      recover(input, at: now, into: &effects)
    }
    return .done
  }

  // MARK: One task

  /// Changes an unfinished task, if there is one in memory.
  mutating func change(_ id: TaskID, _ body: (inout TaskMachine, borrowing TransferSession) -> Void) {
    let (session, residentBytes, mayEvict) = (session, residentBytes, interrupted.isEmpty)
    changed.append(id)
    var eviction: Eviction?
    tasks.change(id) { machine in
      if !machine.isEnding { body(&machine, session) }
      // An interrupted task must be in memory when the recovery is complete.
      if mayEvict || machine.task.state == .suspended {
        eviction = Eviction(of: machine, above: residentBytes)
      }
    }
    if let eviction { evictions.append(eviction) }
  }

  /// Applies a client's command to a task.
  private mutating func verb(
    _ id: TaskID, _ body: (inout TaskMachine, borrowing TransferSession) -> Void
  ) -> InputResult {
    guard let place = tasks[id]?.executionState else { return tasks.isEvicted(id) ? .evicted : .ended }
    switch place {
    case .creating: return .creating
    case .ending: return .ended
    default: break
    }
    change(id, body)
    return tasks[id].map { .task($0.task) } ?? .ended
  }
}

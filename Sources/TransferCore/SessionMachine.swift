package import TransferModel

/// A session with its unfinished tasks: all that is decided about them, as a plain value.
///
/// It has no clock, no lock and no file, and waits for nobody. Whoever owns it gives it inputs one at a time, and carries out the turns
/// that they come to, in their order.
package struct SessionMachine: Sendable {
  package internal(set) var session: TransferSession
  var tally: TaskTally
  package internal(set) var tasks = TaskTable()
  /// invalidateAndCancel() was called: what is still being created is cancelled, too.
  var cancelsTasks = false
  var continued = ContinuedTasks()
  /// Of a background session that is not invalid.
  var handover: Handover?
  /// It is to go on at another process, tasks that are still to come as well.
  private var isLeaving = false
  /// Bytes that clients chose of a task that stays in memory while it waits.
  let residentBytes: Int
  private var submissions: SubmissionQueue
  /// Tasks that the input has changed.
  private var changed: [TaskID] = []
  /// Whether recovery has ended. A new session has none to wait for.
  private var isRecovered = false
  /// Recovered tasks that were running or being cancelled.
  var interrupted: [TaskID] = []
  /// Of the input that is being handled.
  private var evictions: [Eviction] = []

  /// - Parameters:
  ///   - lastIdentifier: that an earlier process gave out.
  ///   - limit: of unfinished tasks.
  ///   - residentBytes: what clients chose the length of in a task may take so much memory while the task waits.
  ///   - submittedBytes: limit, in bytes, for the texts and bodies of all submitted large tasks.
  package init(
    _ session: TransferSession, lastIdentifier: Int = 0, limit: Int, residentBytes: Int = 1024,
    submittedBytes: Int = .max
  ) {
    submissions = SubmissionQueue(smallSize: 4 * residentBytes, capacity: submittedBytes)
    // Even small tasks are evicted, so that the session can rest.
    self.residentBytes = session.isLarge ? 0 : residentBytes
    self.session = session
    tally = TaskTally(lastIdentifier: lastIdentifier, limit: limit)
    if session.type == .background, session.state != .invalid { handover = Handover() }
  }

  /// The highest taskIdentifier that was given out.
  package var lastIdentifier: Int { tally.lastIdentifier }
  /// How many tasks have not ended.
  package var unfinished: Int { tally.unfinished }

  /// The task as it is now; nil if it has ended, is evicted, or there is none.
  package func task(_ id: TaskID) -> TaskMachine? { tasks[id] }

  /// The tasks that have not ended, in the order of their creation.
  package var unfinishedIDs: [TaskID] { tasks.ids }

  /// Of the tasks that have not ended those that are in memory.
  package var residentTasks: [TransferTask] { tasks.ids.compactMap { tasks[$0]?.task } }

  /// What stops the clocks that run for it, where it goes on elsewhere.
  package var cancelledAlarms: [Turn.Alarm] {
    tasks.ids.flatMap { id -> [Turn.Alarm] in
      let question = tasks[id]?.question.map { Turn.Alarm.cancelDecision($0.decision, of: id) }
      return [question, .cancelBegin(id)].compactMap { $0 }
    }
  }

  /// Nobody carries any of its tasks out: it goes on anywhere.
  package var isQuiet: Bool { tasks.areIdle && !submissions.hasCall }

  /// Every message of a background session was handed over.
  package var hasHandedOver: Bool { handover?.isDone ?? true }

  /// Leaves only an outline of a large session in memory if all of its tasks are evicted. The owner calls this at the end of each visit.
  /// - Precondition: the session's row is written, or about to be.
  package mutating func rest() {
    guard session.isLarge, !session.isOutline, isRecovered, session.type != .ephemeral,
      unfinished == tasks.evicted.count, !session.owesFinishedEvents, hasHandedOver,
      // Its tasks are about to be loaded one after the other.
      !cancelsTasks || unfinished == 0
    else { return }
    session = session.outline
  }

  package mutating func handle(_ input: Input, at now: Now, into turn: inout Turn) -> Reply {
    #if DEBUG
      if let injector = Flaw.injector { return injector.handle(input, at: now, into: &turn, by: &self) }
    #endif
    return decide(input, at: now, into: &turn)
  }

  mutating func decide(_ input: Input, at now: Now, into turn: inout Turn) -> Reply {
    assert(turn.session == session.id)
    turn.isLeaving = isLeaving
    swap(&turn.submissions, &submissions)
    defer { swap(&turn.submissions, &submissions) }
    let mark = (turn.ended.count, turn.inquiries.count, turn.messages.count)
    let reply = take(input, at: now, into: &turn)
    if session.type == .background {
      noteCalls(ended: mark.0, asked: mark.1, at: now, into: &turn)
      for message in turn.messages[mark.2...] { handover?.queue(message.id) }
    }
    for id in changed {
      _ = tasks.look(id) { turn.submissions.note($0, session, at: now) }
    }
    changed.removeAll(keepingCapacity: true)
    if !isLeaving, let next = turn.submissions.callNext() {
      turn.alarms.append(.begin(next, at: Timestamp(microseconds: 0)))
    }
    if !evictions.isEmpty {
      turn.evictions += evictions
      evictions = []
    }
    return reply
  }

  private mutating func take(_ input: Input, at now: Now, into turn: inout Turn) -> Reply {
    switch input {
    case .restore(let row): session = session.completed(from: row)
    case .create(let wanted): return create(wanted, at: now, into: &turn)
    case .created(let ids): self.created(ids, at: now, into: &turn)
    case .refused(let ids, let messages):
      for message in messages { _ = handover?.settle(message) }
      for id in ids { _ = tasks.remove(id) }
      turn.forgotten += ids
      release(ids.count, at: now, into: &turn)
    case .resume(let id): return verb(id) { $0.resume($1, at: now, into: &turn) }
    case .suspend(let id): return verb(id) { $0.suspend($1, at: now, into: &turn) }
    case .cancel(let id, let keepsPartial):
      return verb(id) { $0.cancel(keepsPartial: keepsPartial, $1, at: now, into: &turn) }
    case .change(let id, let patch):
      let hasRoom = tasks.look(id) {
        turn.submissions.hasRoom(for: patch.applied(to: $0.task), inPlaceOf: $0)
      }
      guard hasRoom != false else { return .refused(.noRoom) }
      return verb(id) { $0.change(patch, $1, at: now, into: &turn) }
    case .answer(let id, let decision, let answer, let shown, let tag):
      return self.answer(id, decision, answer, shown, tag, at: now, into: &turn)
    case .offer(let id, let body, let length):
      return offer(body, length: length, of: id, at: now, into: &turn)
    case .withdraw(let id, let body): tasks.change(id) { $0.withdraw(body) }
    case .invalidate: return invalidate(at: now, into: &turn)
    case .cancelTasks(let ids): cancel(ids, at: now, into: &turn)
    case .fact(let fact): change(continued.subject(of: fact)) { $0.take(fact, $1, at: now, into: &turn) }
    case .expired(let id, let decision):
      change(id) { $0.expire(decision, $1, at: now, into: &turn) }
    case .begin(let id):
      change(id) { [cancelsTasks] machine, session in
        if cancelsTasks, !machine.isCreating {
          machine.cancel(keepsPartial: false, session, at: now, into: &turn)
        } else {
          machine.launch(session, at: now, into: &turn)
        }
      }
      turn.submissions.endCall(of: id)
      // Its row could not be read.
      if tasks.isEvicted(id) { turn.alarms.append(.begin(id, at: now.wall.adding(seconds: 60))) }
    case .endHolds(let ids): endHolds(ids, at: now, into: &turn)
    case .evict(let evictions): for eviction in evictions { tasks.evict(eviction) }
    case .load(let task):
      assert(!session.isOutline)
      if tasks.load(task) { change(task.id) { _, _ in } }
    case .settled(let deliveries): settled(deliveries, at: now, into: &turn)
    case .attempts(let delivery): handover?.attempt(delivery)
    case .leave:
      // Background tasks are carried out by the worker, whoever decides about them.
      guard session.type != .background else { break }
      isLeaving = true
      for id in tasks.ids {
        change(id) { machine, session in
          if machine.place == .carried, machine.task.canMove {
            // It asks again there.
            let wasAsked = machine.settle(.withdrawn, session, at: now.wall, into: &turn) != nil
            if wasAsked { machine.task.enter(machine.task.usualPhase, at: now.wall, session, into: &turn) }
            machine.leave()
            turn.order(.cancel(keepsPartial: true), of: id)
          }
          // Whoever waits to send it finds the task at another process.
          if let body = machine.upload.dropReady() { turn.droppedUploads.append(body) }
        }
      }
    case .recoveredAll:
      isRecovered = true
      recover(input, at: now, into: &turn)
    case .recovered, .hadBegun, .waits, .isElsewhere, .allElsewhereKnown:
      recover(input, at: now, into: &turn)
    }
    return .done
  }

  // MARK: One task

  /// Does something with an unfinished task, where there is one.
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

  /// What a client wants of a task.
  private mutating func verb(
    _ id: TaskID, _ body: (inout TaskMachine, borrowing TransferSession) -> Void
  ) -> Reply {
    guard let place = tasks[id]?.place else { return tasks.isEvicted(id) ? .evicted : .over }
    switch place {
    case .creating: return .creating
    case .ending: return .over
    default: break
    }
    change(id, body)
    return tasks[id].map { .task($0.task) } ?? .over
  }
}

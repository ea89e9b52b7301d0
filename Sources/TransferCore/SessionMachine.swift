package import TransferModel

/// A session with its unfinished tasks: all that is decided about them, as a plain value.
///
/// It has no clock, no lock and no file, and waits for nobody. Whoever owns it gives it inputs one at a time, and carries out the turns
/// that they come to, in their order.
package struct SessionMachine: Sendable {
  package internal(set) var session: TransferSession
  /// The highest taskIdentifier that was given out.
  package internal(set) var lastIdentifier: Int
  /// Tasks that have not ended, and those that are admitted.
  package internal(set) var unfinished = 0
  var tasks = TaskTable()
  /// invalidateAndCancel() was called: what is still being created is cancelled, too.
  var cancelsTasks = false
  /// The downloads that data tasks became, as long as they are unfinished.
  var downloads: [TaskID: TaskID] = [:]
  var dataTasks: [TaskID: TaskID] = [:]
  /// Of a background session that is not invalid.
  var handover: Handover?
  let limit: Int

  /// - Parameters:
  ///   - lastIdentifier: that an earlier process gave out.
  ///   - limit: of unfinished tasks.
  package init(_ session: TransferSession, lastIdentifier: Int = 0, limit: Int) {
    self.session = session
    self.lastIdentifier = lastIdentifier
    self.limit = limit
    if session.type == .background, session.state != .invalid { handover = Handover() }
  }

  /// The task as it is now; nil where it has ended, or there is none.
  package func task(_ id: TaskID) -> TaskMachine? { tasks[id] }

  /// The tasks that have not ended, in the order of their creation.
  package var unfinishedTasks: [TransferTask] { tasks.ids.compactMap { tasks[$0]?.task } }

  /// Whether one of them is so.
  package func hasTask(where body: (TransferTask) -> Bool) -> Bool { tasks.contains(where: body) }

  /// Every message of a background session was handed over.
  package var hasHandedOver: Bool { handover?.isDone ?? true }

  package mutating func handle(_ input: Input, at now: Now, into turn: inout Turn) -> Reply {
    assert(turn.session == session.id)
    let mark = (turn.ended.count, turn.inquiries.count, turn.messages.count)
    let reply = take(input, at: now, into: &turn)
    if session.type == .background {
      noteEnds(turn.ended.count > mark.0, into: &turn)
      noteCalls(ended: mark.0, asked: mark.1, at: now, into: &turn)
      noteMessages(from: mark.2, of: turn)
    }
    return reply
  }

  private mutating func take(_ input: Input, at now: Now, into turn: inout Turn) -> Reply {
    switch input {
    case .admit(let count): return admit(count, into: &turn)
    case .create(let created): create(created, at: now, into: &turn)
    case .created(let ids): self.created(ids, at: now, into: &turn)
    case .refused(let count, let ids, let messages):
      for message in messages { _ = handover?.settle(message) }
      refused(count, ids, at: now, into: &turn)
    case .resume(let id): return verb(id) { $0.resume($1, at: now, into: &turn) }
    case .suspend(let id): return verb(id) { $0.suspend($1, at: now, into: &turn) }
    case .cancel(let id, let keepsPartial):
      return verb(id) { $0.cancel(keepsPartial: keepsPartial, $1, at: now, into: &turn) }
    case .change(let id, let patch): return verb(id) { $0.change(patch, $1, at: now, into: &turn) }
    case .answer(let id, let decision, let answer, let shown, let tag):
      return self.answer(id, decision, answer, shown, tag, at: now, into: &turn)
    case .offer(let id, let body, let length):
      return offer(body, length: length, of: id, at: now, into: &turn)
    case .withdraw(let id, let body): tasks.change(id) { $0.withdraw(body) }
    case .invalidate: return invalidate(at: now, into: &turn)
    case .cancelTasks(let ids): cancel(ids, at: now, into: &turn)
    case .news(let news): change(subject(of: news)) { $0.take(news, $1, at: now, into: &turn) }
    case .expired(let id, let decision):
      change(id) { $0.expire(decision, $1, at: now, into: &turn) }
    case .begin(let id): change(id) { $0.launch($1, at: now, into: &turn) }
    case .endHolds(let ids): endHolds(ids, at: now, into: &turn)
    case .settled(let deliveries): settled(deliveries, at: now, into: &turn)
    case .attempts(let delivery): handover?.attempt(delivery)
    case .recovered, .hadBegun, .waits, .isElsewhere, .allElsewhereKnown, .recoveredAll:
      recover(input, at: now, into: &turn)
    }
    return .done
  }

  // MARK: One task

  /// Whom news are about: an engine that ends a data task may not have heard yet that it goes on as a download.
  private func subject(of news: News) -> TaskID {
    guard case .fact(.ended(let task, _)) = news else { return news.task }
    return downloads[task] ?? task
  }

  /// Does something with an unfinished task, where there is one.
  mutating func change(_ id: TaskID, _ body: (inout TaskMachine, borrowing TransferSession) -> Void) {
    let session = session
    tasks.change(id) { machine in
      if !machine.isEnding { body(&machine, session) }
    }
  }

  /// What a client wants of a task.
  private mutating func verb(
    _ id: TaskID, _ body: (inout TaskMachine, borrowing TransferSession) -> Void
  ) -> Reply {
    guard let place = tasks[id]?.place else { return .over }
    switch place {
    case .creating: return .creating
    case .ending: return .over
    default: break
    }
    change(id, body)
    return tasks[id].map { .task($0.task) } ?? .over
  }
}

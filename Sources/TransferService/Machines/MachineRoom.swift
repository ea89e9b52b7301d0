internal import EventLoop
internal import Synchronization
internal import TransferCore
internal import TransferEngine
internal import TransferModel
internal import TransferStore

/// The machines of all sessions, and the way of what they decide into the store, to whoever carries tasks out, and to those who wait.
/// It decides nothing.
///
/// The sessions are spread over shards, so that no lock is the whole process's. Under a shard's lock a machine is visited, and the step
/// that the visit came to is queued; whoever finds nobody at it carries the steps out, in order, outside of the lock.
final class MachineRoom: Sendable {
  private static let shardCount = 64

  let directory = TaskDirectory()
  let waiters = TaskWaiters()
  let deadlines: DeadlineQueue
  let engine: any LocalCarrier
  let background: BackgroundCarrier?
  let hub: EventHub
  let recorder: Recorder
  let pool: WorkerPool
  private let shards: [SessionShard]
  /// Tasks with orders that wait for a commit, and how many.
  let held = Mutex<[TaskID: Int]>([:])

  /// - Parameters:
  ///   - seed: of the ids that machines make.
  ///   - now: the clock on the wall.
  ///   - uptime: a clock that nobody sets.
  ///   - alarms: keep the time of deadlines; nil: the system's timer does.
  init(
    engine: any LocalCarrier, background: BackgroundCarrier?, hub: EventHub, recorder: Recorder,
    pool: WorkerPool, seed: UInt64, now: @escaping @Sendable () -> Timestamp,
    uptime: @escaping @Sendable () -> ContinuousClock.Instant, alarms: Alarms? = nil
  ) {
    self.engine = engine
    self.background = background
    self.hub = hub
    self.recorder = recorder
    self.pool = pool
    deadlines = DeadlineQueue(now: now, uptime: uptime, alarms: alarms)
    var seeds = RandomSource(seed: seed)
    let (directory, isShared) = (directory, background != nil)
    shards = (0..<Self.shardCount).map { _ in
      SessionShard(seed: seeds.next(), directory: directory) { session in
        var present = Now(wall: now(), uptime: uptime())
        present.isHeard = session.type == .background && hub.hasListeners(of: session)
        return present
      } isElsewhere: {
        isShared && $0.type == .background
      }
    }
    deadlines.onFire { [weak self] in self?.deadlinePassed($0) }
  }

  private func shard(of session: SessionID) -> SessionShard {
    shards[Int(session.low % UInt64(Self.shardCount))]
  }

  // MARK: Sessions

  func insert(_ machine: SessionMachine) { shard(of: machine.session.id).insert(machine) }

  func remove(_ session: SessionID) { shard(of: session).remove(session) }

  func session(_ id: SessionID) -> TransferSession? { shard(of: id).look(id) { $0.session } }

  func sessions() -> [TransferSession] { shards.flatMap { $0.sessions() } }

  func look<Result: Sendable>(at session: SessionID, _ body: (borrowing SessionMachine) -> Result) -> Result?
  {
    shard(of: session).look(session, body)
  }

  /// An unfinished task as it is now; nil where it has ended, or there is none.
  func task(_ id: TaskID) -> TaskMachine? {
    guard let session = directory[id] else { return nil }
    return look(at: session) { $0.task(id) } ?? nil
  }

  /// Nobody waits, and nothing is to be carried out.
  var isIdle: Bool { waiters.count == 0 && directory.count == 0 && shards.allSatisfy(\.isIdle) }

  /// Whether somebody waits for a task's row.
  func hasParked(_ task: TaskID) -> Bool {
    directory[task].map { shard(of: $0).hasParked(task) } ?? false
  }

  // MARK: Visits

  /// Does something to a session; nil where there is none.
  @discardableResult
  func visit<Result: Sendable>(
    _ session: SessionID, _ body: (inout SessionMachine, inout Step) -> Result
  ) -> Result? {
    let shard = shard(of: session)
    guard let (result, mustCarryOut) = shard.visit(session, body) else { return nil }
    if mustCarryOut { carryOut(shard) }
    return result
  }

  /// Does something to a session, and returns when it is committed; nil where there is none.
  func visitAndWait<Result: Sendable>(
    _ session: SessionID, _ body: (inout SessionMachine, inout Step) -> Result
  ) async -> Result? {
    await withCheckedContinuation { continuation in
      let found: Void? = visit(session) { machine, step in
        let result = body(&machine, &step)
        step.committed.append { continuation.resume(returning: result) }
      }
      if found == nil { continuation.resume(returning: nil) }
    }
  }

  /// Does something to a task's session once the task's row is written. False where the task has ended, or there is none.
  func visit(task: TaskID, _ visit: @escaping Visit) -> Bool {
    guard let session = directory[task] else { return false }
    let shard = shard(of: session)
    guard let mustCarryOut = shard.visit(task, in: session, visit) else { return false }
    if mustCarryOut { carryOut(shard) }
    return true
  }

  /// Gives a task's session an input once the task's row is written; returns when what that comes to is committed.
  func give(_ input: Input, to task: TaskID) async -> Reply {
    await withCheckedContinuation { continuation in
      let isThere = visit(task: task) { machine, step in
        let reply = machine.take(input, &step)
        step.committed.append { continuation.resume(returning: reply) }
      }
      if !isThere { continuation.resume(returning: .over) }
    }
  }

  // MARK: Creating tasks

  /// Returns once what was decided of a session so far is on its way to the store: what the caller writes comes behind that.
  func catchUp(with session: SessionID) async {
    guard !shard(of: session).isCarriedOut else { return }
    await withCheckedContinuation { continuation in
      let found: Void? = visit(session) { _, step in step.carriedOut.append { continuation.resume() } }
      if found == nil { continuation.resume() }
    }
  }

  /// Adds tasks to a session. What that comes to is a change that the caller writes, and then says whether it holds.
  func create(_ tasks: [TransferTask], in session: SessionID) -> StoreChange? {
    shard(of: session).visitAside(session) { machine, step in
      _ = machine.take(.create(tasks), &step)
    }.map { StoreChange($0.step) }
  }

  /// - Parameter refused: how many were not created, and the messages that they would have sent; nil: they are.
  func endCreation(
    of tasks: [TaskID], in session: SessionID, refused: (count: Int, messages: [DeliveryID])? = nil
  ) {
    let shard = shard(of: session)
    if shard.endCreation(of: tasks, in: session, refused: refused) == true { carryOut(shard) }
  }

  // MARK: What happens

  /// Takes what an engine tells. On its thread.
  func absorb(_ facts: [TransferFact]) {
    for (session, facts) in bySession(facts, \.task) {
      visit(session) { machine, step in
        for fact in facts { take(fact, &machine, &step) }
      }
    }
  }

  private func take(_ fact: TransferFact, _ machine: inout SessionMachine, _ step: inout Step) {
    var now = step.now
    switch fact {
    case .progress, .ended:
      now.isWatched = hub.wantsProgress(
        of: fact.task, in: machine.session.id, tenant: machine.session.tenant)
    default: break
    }
    _ = machine.handle(.news(.fact(fact)), at: now, into: &step.turn)
  }

  /// Takes what the process that carries background tasks out tells, which goes from the store with what it comes to.
  /// - Parameters:
  ///   - others: the numbers of other news, which have been taken.
  ///   - written: called once all of it is committed.
  func absorb(
    _ news: [(number: Int64, news: News)], andTaken others: [Int64], written: @escaping @Sendable () -> Void
  ) {
    let groups = bySession(news, \.news.task)
    var taken: Set<Int64> = []
    let left = Countdown(from: groups.count + 1, written)
    for (session, news) in groups {
      let found: Void? = visit(session) { machine, step in
        for (_, news) in news {
          if case .fact(let fact) = news {
            take(fact, &machine, &step)
          } else {
            machine.take(.news(news), &step)
          }
        }
        step.turn.takenNews = news.map(\.number)
        step.committed.append { left.count() }
      }
      if found == nil { left.count() } else { taken.formUnion(news.map(\.number)) }
    }
    // Nobody is left whom the rest is about.
    let rest = news.map(\.number).filter { !taken.contains($0) } + others
    var change = StoreChange()
    change.takenNews = rest.sorted().ranges
    recorder.record(change) { left.count() }
  }

  /// What is about unfinished tasks, by their sessions, and in each in its order.
  private func bySession<Item>(
    _ items: [Item], _ task: (Item) -> TaskID
  ) -> [(session: SessionID, items: [Item])] {
    let sessions = items.map { directory[task($0)] }
    // It is one session's, mostly.
    if let first = sessions.first, let first, sessions.allSatisfy({ $0 == first }) { return [(first, items)] }
    var groups: [(session: SessionID, items: [Item])] = []
    var places: [SessionID: Int] = [:]
    for (item, session) in zip(items, sessions) {
      guard let session else { continue }
      if let place = places[session] {
        groups[place].items.append(item)
      } else {
        places[session] = groups.count
        groups.append((session, [item]))
      }
    }
    return groups
  }

  private func deadlinePassed(_ purpose: DeadlineQueue.Purpose) {
    switch purpose {
    case .decision(let decision, let task): give(.expired(task, decision), to: task)
    case .begin(let task): give(.begin(task), to: task)
    case .wait(let ticket): waiters.giveUp(ticket)
    }
  }

  private func give(_ input: Input, to task: TaskID) {
    guard let session = directory[task] else { return }
    visit(session) { machine, step in _ = machine.take(input, &step) }
  }

  private func carryOut(_ shard: SessionShard) { shard.carryOut { perform($0) } }
}

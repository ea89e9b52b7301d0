internal import Cluster
internal import EngineAPI
internal import EventLoop
internal import Ledger
internal import Synchronization
internal import TransferCore
internal import TransferModel

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
  let spawn: Spawn
  private let shards: [SessionShard]
  let cluster: Cluster
  let orders: OrderDesk
  /// Serializes reads of a session's row, so that one read serves all waiters.
  private let rowReads = SessionMutex()
  let removals: Removals
  /// The sweep of this start deletes no partial files: some could not be taken over.
  let keepsPartialFiles = Atomic(false)

  /// - Parameters:
  ///   - seed: of the ids that machines make.
  ///   - now: the clock on the wall.
  ///   - uptime: a monotonic clock.
  ///   - alarms: keep the time of deadlines; nil: the system's timer does.
  ///   - spawn: how it reads evicted tasks beside everything else.
  init(
    cluster: Cluster, engine: any LocalCarrier, background: BackgroundCarrier?, hub: EventHub,
    recorder: Recorder,
    pool: WorkerPool, seed: UInt64, now: @escaping @Sendable () -> Timestamp,
    uptime: @escaping @Sendable () -> ContinuousClock.Instant, alarms: Alarms? = nil,
    spawn: Spawn = Spawn()
  ) {
    self.cluster = cluster
    self.spawn = spawn
    self.engine = engine
    self.background = background
    self.hub = hub
    self.recorder = recorder
    self.pool = pool
    orders = OrderDesk(engine)
    removals = Removals(engine: engine, background: background, pool: pool)
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

  func shard(of session: SessionID) -> SessionShard {
    shards[Int(session.low % UInt64(Self.shardCount))]
  }

  /// Under which it keeps what it writes.
  var stamp: BlobStamp {
    BlobStamp(epoch: Flaw.writesUnderNoEpoch.isPresent ? 0 : cluster.epoch)
  }

  // MARK: Sessions

  func insert(_ machine: SessionMachine) { shard(of: machine.session.id).insert(machine) }

  func remove(_ session: SessionID) { shard(of: session).remove(session) }

  func session(_ id: SessionID) -> TransferSession? { shard(of: id).look(id) { $0.session } }

  func sessions() -> [TransferSession] { shards.flatMap { $0.sessions() } }

  /// Those where a session has tasks that are carried out here. Ephemeral sessions stay where they are, whosever the shard is.
  var busyShards: ShardSet {
    let busy = sessions().filter { session in
      session.type != .ephemeral && background?.has(session.id) != true
        && look(at: session.id, \.isQuiet) == false
    }
    return ShardSet(busy.map(\.id.shard))
  }

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

  /// Does something to a session, and returns when it is committed; nil where there is none, or it is another process's by now.
  func visitAndWait<Result: Sendable>(
    _ session: SessionID, _ body: (inout SessionMachine, inout Step) -> Result
  ) async -> Result? {
    await withCheckedContinuation { continuation in
      let found: Void? = visit(session) { machine, step in
        let result = body(&machine, &step)
        step.settled.append { continuation.resume(returning: $0 ? result : nil) }
      }
      if found == nil { continuation.resume(returning: nil) }
    }
  }

  /// Does something to a task's session once the task's row is written, and the task in memory. False where the task has ended, or
  /// there is none.
  func visit(task: TaskID, _ visit: @escaping Visit) -> Bool {
    guard let session = directory[task] else { return false }
    let shard = shard(of: session)
    switch shard.visit(task, in: session, visit) {
    case .missing: return false
    case .parked: break
    case .firstParked: spawn { [self] in await load(task, of: session) }
    case .taken(let mustCarryOut): if mustCarryOut { carryOut(shard) }
    }
    return true
  }

  /// Reads an evicted task from its row. If that fails, those who wait for it find it evicted.
  private func load(_ task: TaskID, of session: SessionID) async {
    var (row, whole): (TransferTask?, TransferSession?)
    do throws(StoreError) { row = try await recorder.store.task(task) } catch {}
    let shard = shard(of: session)
    func end() -> Bool {
      let loading = shard.endLoading(of: task, as: row, in: session, whole: whole)
      if case .ended(mustCarryOut: true) = loading { carryOut(shard) }
      return loading != .needsSession
    }
    if end() { return }
    await rowReads.lock(session)
    defer { rowReads.unlock(session) }
    // Another visit may have restored the session.
    if end() { return }
    do throws(StoreError) { whole = try await recorder.store.session(session) } catch {}
    if whole == nil { row = nil }
    _ = end()
  }

  /// Visits a session with its whole configuration; nil if there is no such session. If its row cannot be read, it throws without a
  /// visit.
  func visitWhole<Result: Sendable>(
    _ session: SessionID, _ body: (inout SessionMachine, inout Step) -> Result
  ) async throws(StoreError) -> Result? {
    /// An inner nil: the session is an outline.
    func attempt(_ row: TransferSession?) -> Result?? {
      visit(session) { machine, step in
        if let row { machine.take(.restore(row), &step) }
        return machine.session.isOutline ? nil : body(&machine, &step)
      }
    }
    var found = attempt(nil)
    guard case .some(nil) = found else { return found ?? nil }
    await rowReads.lock(session)
    defer { rowReads.unlock(session) }
    // Another visit may have restored the session.
    found = attempt(nil)
    guard case .some(nil) = found else { return found ?? nil }
    guard let row = try await recorder.store.session(session) else { return nil }
    return attempt(row) ?? nil
  }

  /// Gives a task's session an input once the task's row is written; returns when what that comes to is committed.
  func give(_ input: Input, to task: TaskID) async -> Reply {
    await withCheckedContinuation { continuation in
      let isThere = visit(task: task) { machine, step in
        let reply = machine.take(input, &step)
        step.settled.append { continuation.resume(returning: $0 ? reply : .over) }
      }
      if !isThere { continuation.resume(returning: .over) }
    }
  }

  // MARK: Creating tasks

  /// Creates tasks, all or none; returns once they are committed. What runs of them begins then.
  /// - Parameter reply: what repeats of the request get.
  func create(
    _ wanted: [NewTask], in session: SessionID,
    reply: @escaping @Sendable ([TransferTask]) -> IdempotentReply?
  ) async throws(ServiceError) -> [TransferTask] {
    let refusal = Promise<StoreError?>()
    let found: Reply?
    do throws(StoreError) {
      found = try await visitWhole(session) { machine, step in
        let result = machine.take(.create(wanted), &step)
        if case .created = result {
          step.creation = Creation(tasks: wanted.map(\.id), reply: reply) { refusal.resume(returning: $0) }
        }
        return result
      }
    } catch {
      throw .store(error)
    }
    switch found {
    case .created(let tasks):
      if let refusal = await refusal.wait() { throw .store(refusal) }
      return tasks
    case .refused(let refusal): throw ServiceError(refusal)
    case nil: throw .sessionNotFound
    default: preconditionFailure("tasks are created or refused")
    }
  }

  /// Tasks have been created, or not.
  /// - Parameter refused: the messages that they would have sent; nil: they are.
  func endCreation(of tasks: [TaskID], in session: SessionID, refused: [DeliveryID]?) {
    let shard = shard(of: session)
    if shard.endCreation(of: tasks, in: session, refused: refused) == true { carryOut(shard) }
  }

  // MARK: What happens

  /// Takes what an engine tells. On its thread.
  func absorb(_ facts: [TransferFact]) {
    for (session, facts) in directory.bySession(facts, \.task) {
      visit(session) { machine, step in
        for fact in facts { take(fact, &machine, &step) }
        if let stored = LiveBody.storedCallback(for: facts) { step.settled.append { _ in stored() } }
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
    _ = machine.handle(.fact(fact), at: now, into: &step.turn)
  }

  /// Takes what the process that carries background tasks out tells, which goes from the store with what it comes to.
  /// - Parameter written: called once all of it is committed.
  /// - Returns: the numbers of news about which nobody is left here.
  func absorb(
    _ facts: [(number: Int64, fact: TransferFact)], written: @escaping @Sendable () -> Void
  ) -> [Int64] {
    let groups = directory.bySession(facts, \.fact.task)
    var taken: Set<Int64> = []
    let left = Countdown(from: groups.count + 1, written)
    defer { left.count() }
    for (session, facts) in groups {
      let found: Void? = visit(session) { machine, step in
        for (_, fact) in facts { take(fact, &machine, &step) }
        step.turn.takenNews = facts.map(\.number)
        step.settled.append { _ in left.count() }
      }
      if found == nil { left.count() } else { taken.formUnion(facts.map(\.number)) }
    }
    return facts.map(\.number).filter { !taken.contains($0) }
  }

  private func deadlinePassed(_ purpose: DeadlineQueue.Purpose) {
    switch purpose {
    case .decision(let decision, let task):
      _ = visit(task: task) { _ = $0.take(.expired(task, decision), &$1) }
    case .begin(let task): _ = visit(task: task) { _ = $0.take(.begin(task), &$1) }
    case .wait(let ticket): waiters.giveUp(ticket)
    }
  }

  private func carryOut(_ shard: SessionShard) { shard.carryOut { perform($0) } }
}

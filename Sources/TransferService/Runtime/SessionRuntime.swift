internal import Cluster
internal import EngineAPI
internal import EventLoop
internal import Ledger
internal import Synchronization
internal import TransferCore
internal import TransferModel

/// Holds the machines of all sessions and carries out their decisions. Changes go to the ledger, commands to the engine and the
/// worker, and results to waiting requests.
///
/// The sessions are spread over 64 locks (`SessionStripe`). An update holds one lock while the machine decides, and queues the transition.
/// If no other thread is carrying out the lock's transitions, the updating thread does so, in order and outside the lock.
final class SessionRuntime: Sendable {
  private static let shardCount = 64

  let directory = TaskSessionIndex()
  let waiters = TaskWaiters()
  let deadlines: DeadlineQueue
  let engine: any TransferExecuting
  let background: WorkerSessionRegistry?
  let hub: EventHub
  let endpoints: EndpointDeliveries
  let recorder: ChangeRecorder
  let pool: ThreadPool
  let spawn: TaskSpawner
  private let shards: [SessionStripe]
  let cluster: Cluster
  let commands: CommandDispatcher
  /// Serialises reads of a session's row, so that one read serves all waiters.
  private let rowReads = SessionMutex()
  let remover: SessionDataRemover
  /// Receives the groups of ended tasks after each commit; `nil` for all groups.
  let groupCallback = LateBoundCallback<Set<TaskGroupKey>?>()
  private let trials = SuspectTrials()
  /// Whether the sweep of this start keeps all partial files, because taking over some of them failed.
  let keepsPartialFiles = Atomic(false)
  let placer: FilePlacer

  /// - Parameters:
  ///   - seed: the seed of the ids that machines make.
  ///   - now: the wall clock.
  ///   - uptime: a monotonic clock.
  ///   - alarms: the timer of deadlines, or `nil` for the system's timer.
  ///   - spawn: starts the tasks that read evicted tasks.
  init(
    cluster: Cluster, engine: any TransferExecuting, background: WorkerSessionRegistry?, hub: EventHub,
    endpoints: EndpointDeliveries, recorder: ChangeRecorder,
    pool: ThreadPool, placer: FilePlacer, seed: UInt64, now: @escaping @Sendable () -> Timestamp,
    uptime: @escaping @Sendable () -> ContinuousClock.Instant, timers: TimerSource? = nil,
    spawn: TaskSpawner = TaskSpawner()
  ) {
    self.cluster = cluster
    self.spawn = spawn
    self.engine = engine
    self.background = background
    self.hub = hub
    self.endpoints = endpoints
    self.recorder = recorder
    self.pool = pool
    self.placer = placer
    commands = CommandDispatcher(engine)
    remover = SessionDataRemover(engine: engine, background: background, pool: pool)
    deadlines = DeadlineQueue(now: now, uptime: uptime, timers: timers)
    var seeds = RandomSource(seed: seed)
    let (directory, isShared) = (directory, background != nil)
    shards = (0..<Self.shardCount).map { _ in
      SessionStripe(seed: seeds.next(), directory: directory) { session in
        var present = InputContext(wall: now(), uptime: uptime())
        present.hasListeners = session.type == .background && hub.hasListeners(of: session)
        return present
      } isElsewhere: {
        isShared && $0.type == .background
      }
    }
    deadlines.onFire { [weak self] in self?.deadlinePassed($0) }
  }

  func shard(of session: SessionID) -> SessionStripe {
    shards[Int(session.low % UInt64(Self.shardCount))]
  }

  /// The stamp of the blobs that this process writes.
  var stamp: BlobStamp {
    BlobStamp(epoch: InjectedFault.writesUnderNoEpoch.isPresent ? 0 : cluster.epoch)
  }

  // MARK: Sessions

  func insert(_ machine: SessionMachine) { shard(of: machine.session.id).insert(machine) }

  func remove(_ session: SessionID) { shard(of: session).remove(session) }

  func session(_ id: SessionID) -> TransferSession? { shard(of: id).read(id) { $0.session } }

  func sessions() -> [TransferSession] { shards.flatMap { $0.sessions() } }

  /// The shards with sessions whose tasks run in this process. Ephemeral sessions do not count, because they never move.
  var busyShards: ShardSet {
    let busy = sessions().filter { session in
      session.type != .ephemeral && background?.has(session.id) != true
        && read(at: session.id, \.isQuiet) == false
    }
    return ShardSet(busy.map(\.id.shard))
  }

  func read<Result: Sendable>(at session: SessionID, _ body: (borrowing SessionMachine) -> Result) -> Result?
  {
    shard(of: session).read(session, body)
  }

  /// - Returns: an unfinished task, or `nil` if the task has ended, is evicted, or does not exist.
  func task(_ id: TaskID) -> TaskMachine? {
    guard let session = directory[id] else { return nil }
    return read(at: session) { $0.task(id) } ?? nil
  }

  /// Whether no request waits and no transition is queued.
  var isIdle: Bool { waiters.count == 0 && directory.count == 0 && shards.allSatisfy(\.isIdle) }

  // MARK: Updates

  /// Changes a session. Returns `nil` if there is no such session.
  @discardableResult
  func update<Result: Sendable>(
    _ session: SessionID, _ body: (inout SessionMachine, inout SessionTransition) -> Result
  ) -> Result? {
    let shard = shard(of: session)
    guard let (result, mustCarryOut) = shard.visit(session, body) else { return nil }
    if mustCarryOut { drain(shard) }
    return result
  }

  /// Changes a session and returns after the commit. Returns `nil` if there is no such session, or another service owns it now.
  func updateAndCommit<Result: Sendable>(
    _ session: SessionID, _ body: (inout SessionMachine, inout SessionTransition) -> Result
  ) async -> Result? {
    await withCheckedContinuation { continuation in
      let found: Void? = update(session) { machine, step in
        let result = body(&machine, &step)
        step.onCommit.append { continuation.resume(returning: $0 ? result : nil) }
      }
      if found == nil { continuation.resume(returning: nil) }
    }
  }

  /// Changes a task's session, once the task's row is written and the task is in memory. Returns `false` if the task has ended or
  /// does not exist.
  func update(task: TaskID, _ visit: @escaping SessionUpdate) -> Bool {
    guard let session = directory[task] else { return false }
    let shard = shard(of: session)
    switch shard.visit(task, in: session, visit) {
    case .missing: return false
    case .parked: break
    case .mustReadRow: spawn { [self] in await load(task, of: session) }
    case .taken(let mustCarryOut): if mustCarryOut { drain(shard) }
    }
    return true
  }

  /// Reads an evicted task from its row. If that fails, the waiting updates find the task evicted.
  private func load(_ task: TaskID, of session: SessionID) async {
    var (row, whole): (TransferTask?, TransferSession?)
    do throws(LedgerError) { row = try await recorder.store.task(task) } catch {}
    let shard = shard(of: session)
    func end() -> Bool {
      let loading = shard.endLoading(of: task, as: row, in: session, whole: whole)
      if case .ended(mustCarryOut: true) = loading { drain(shard) }
      return loading != .needsSession
    }
    if end() { return }
    await rowReads.lock(session)
    defer { rowReads.unlock(session) }
    // Another update may have restored the session.
    if end() { return }
    do throws(LedgerError) { whole = try await recorder.store.session(session) } catch {}
    if whole == nil { row = nil }
    _ = end()
  }

  /// Changes a session that has its whole configuration. Returns `nil` if there is no such session. If the session's row cannot
  /// be read, throws without a change.
  func updateWithConfiguration<Result: Sendable>(
    _ session: SessionID, _ body: (inout SessionMachine, inout SessionTransition) -> Result
  ) async throws(LedgerError) -> Result? {
    /// An inner `nil` means that the session is an outline.
    func attempt(_ row: TransferSession?) -> Result?? {
      update(session) { machine, step in
        if let row { machine.apply(.restore(row), &step) }
        return machine.session.isOutline ? nil : body(&machine, &step)
      }
    }
    var found = attempt(nil)
    guard case .some(nil) = found else { return found ?? nil }
    await rowReads.lock(session)
    defer { rowReads.unlock(session) }
    // Another update may have restored the session.
    found = attempt(nil)
    guard case .some(nil) = found else { return found ?? nil }
    guard let row = try await recorder.store.session(session) else { return nil }
    return attempt(row) ?? nil
  }

  /// Gives an input to a task's session once the task's row is written. Returns after the commit.
  func handle(_ input: SessionInput, to task: TaskID) async -> InputResult {
    await withCheckedContinuation { continuation in
      let isThere = update(task: task) { machine, step in
        let reply = machine.apply(input, &step)
        step.onCommit.append { continuation.resume(returning: $0 ? reply : .ended) }
      }
      if !isThere { continuation.resume(returning: .ended) }
    }
  }

  // MARK: Creating tasks

  /// Creates all of the tasks or none. Returns after the commit, when the tasks that may run begin.
  /// - Parameter reply: makes the reply that is stored under the Idempotency-Key.
  func create(
    _ wanted: [NewTask], in session: SessionID,
    reply: @escaping @Sendable ([TransferTask]) -> IdempotentReply?
  ) async throws(ServiceError) -> [TransferTask] {
    let refusal = Promise<LedgerError?>()
    let found: InputResult?
    do throws(LedgerError) {
      found = try await updateWithConfiguration(session) { machine, step in
        let result = machine.apply(.create(wanted), &step)
        if case .created = result {
          step.creation = TaskCreation(tasks: wanted.map(\.id), reply: reply) {
            refusal.resume(returning: $0)
          }
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
    default: preconditionFailure("a creation must create or refuse tasks")
    }
  }

  /// Notes that a creation was committed or refused.
  /// - Parameter refused: the messages of the refused tasks, or `nil` if the tasks are committed.
  func endCreation(of tasks: [TaskID], in session: SessionID, refused: [DeliveryID]?) {
    let shard = shard(of: session)
    if shard.endCreation(of: tasks, in: session, refused: refused) == true { drain(shard) }
  }

  // MARK: Facts

  /// Handles the engine's facts. Called on the engine's thread.
  func handle(_ facts: [TransferFact]) {
    for (session, facts) in directory.bySession(facts, \.task) {
      update(session) { machine, step in
        for fact in facts { apply(fact, &machine, &step) }
        if let stored = LiveBody.storedCallback(for: facts) { step.onCommit.append { _ in stored() } }
      }
    }
  }

  private func apply(_ fact: TransferFact, _ machine: inout SessionMachine, _ step: inout SessionTransition) {
    var now = step.now
    switch fact {
    case .progress, .ended:
      now.hasProgressListeners = hub.wantsProgress(
        of: fact.task, in: machine.session.id, tenant: machine.session.tenant)
    default: break
    }
    _ = machine.handle(.fact(fact), at: now, into: &step.effects)
  }

  /// Handles reports from the worker. The commits of their results delete the reports.
  /// - Parameter written: called after all of these commits.
  /// - Returns: the numbers of reports about tasks that this service does not have.
  func handle(
    _ facts: [(number: Int64, fact: TransferFact)], written: @escaping @Sendable () -> Void
  ) -> [Int64] {
    let groups = directory.bySession(facts, \.fact.task)
    var taken: Set<Int64> = []
    let left = CompletionCounter(from: groups.count + 1, written)
    defer { left.count() }
    for (session, facts) in groups {
      let found: Void? = update(session) { machine, step in
        for (_, fact) in facts { apply(fact, &machine, &step) }
        step.effects.takenNews = facts.map(\.number)
        step.onCommit.append { _ in left.count() }
      }
      if found == nil { left.count() } else { taken.formUnion(facts.map(\.number)) }
    }
    return facts.map(\.number).filter { !taken.contains($0) }
  }

  private func deadlinePassed(_ purpose: DeadlineQueue.Purpose) {
    switch purpose {
    case .decision(let decision, let task):
      _ = update(task: task) { _ = $0.apply(.decisionExpired(task, decision), &$1) }
    case .begin(let task): _ = update(task: task) { _ = $0.apply(.begin(task), &$1) }
    case .crashWindow(let task): _ = update(task: task) { _ = $0.apply(.crashWindowPassed(task), &$1) }
    case .wait(let ticket): waiters.timeOut(ticket)
    case .groups: groupCallback.deliver([])
    }
  }

  /// Applies changes to the queue of suspects, and begins the trial whose turn it is.
  func apply(_ changes: [SessionEffects.TrialChange]) {
    for task in trials.apply(changes) {
      let isThere = update(task: task) { _ = $0.apply(.trialBegan(task), &$1) }
      if !isThere { apply([.over(task)]) }
    }
  }

  private func drain(_ shard: SessionStripe) { shard.carryOut { perform($0) } }
}

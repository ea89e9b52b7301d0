import JSON
import Ledger
import MemoryLedger
import SimulatedStores
import Simulation
import TransferModel

@testable import TransferService

/// A simulation of a service and a worker with one database in memory. It has scripted engines and a controlled clock, but no socket and no
/// thread. One thing happens at a time, always in the same order. At one commit a process may crash, and another replaces it. For one
/// thread.
final class CrashWorld: @unchecked Sendable {
  enum Victims: String, CaseIterable, Sendable {
    case service, worker, both
    /// The other process continues as far as possible before this one is restarted.
    case serviceForAWhile, workerForAWhile

    var hasService: Bool { self == .service || self == .both || self == .serviceForAWhile }
    var isForAWhile: Bool { self == .serviceForAWhile || self == .workerForAWhile }
    var hasWorker: Bool { self == .worker || self == .both || self == .workerForAWhile }
  }
  struct Crash: Sendable {
    /// The number of commits before the crash.
    var commit: Int
    var victims: Victims
    /// The number of unacknowledged changes of each victim that still reach the database.
    var keeping = 0
    /// Whether the worker crashed by itself, so that one of its tasks may be the cause.
    var isWorkersFault = false
    /// The number of commits after which the crash repeats; `nil` if it does not.
    var again: Int?
    /// Whether the database loses the last acknowledged commit. Every check must then fail, which tests the checks.
    var forgets = false
  }
  /// The service of a call has ended.
  struct Lost: Error {}

  /// The replies that a client has received.
  struct Acknowledged {
    var sessions: Set<SessionID> = []
    var tasks: Set<TaskID> = []
    var cancelled: Set<TaskID> = []
    var suspended: Set<TaskID> = []
    var answered: Set<DecisionID> = []
    var invalidated: Set<SessionID> = []
    var deleted: Set<SessionID> = []
  }

  static let start = SimulatedClock.start
  /// The limit of steps, above which a world has a fault.
  private static let mostSteps = 20_000

  private var surroundings = SharedEnvironment(executor: ManualExecutor(), clock: SimulatedClock())
  var executor: ManualExecutor { surroundings.executor }
  let origin = ScriptedOrigin()
  var clock: SimulatedClock { surroundings.clock }
  /// The fragments that streams received.
  private let told = Told()
  let hasWorker: Bool
  /// Whether changes are committed as soon as they wait. Otherwise they are committed when nothing else can happen.
  let commitsFirst: Bool
  var acknowledged = Acknowledged()
  /// The detected faults as text.
  var faults: [String] = []
  /// The messages sent, in order.
  var sent: [SimulatedSender.Post] = []
  /// Returns the webhook's answer to a decision.
  var reply: (SimulatedSender.Post) -> String? = { _ in nil }
  private(set) var commits = 0
  /// The number of pending changes at the crash.
  private(set) var waitedAtCrash = 0
  private(set) var hasCrashed = false
  private(set) var service: ServiceProcess<ScriptedEngine>
  private(set) var worker: WorkerProcess<ScriptedEngine>?
  private var crash: Crash?
  /// The database before the last commit, if that commit is to be lost.
  private var earlier: SimulatedDatabase?
  /// The number of commits before the disk is full. It stays full until nothing else can happen.
  private var roomLeft: Int?
  private var isFull = false
  private var steps = 0
  private var effects = 0

  init(hasWorker: Bool, commitsFirst: Bool, crash: Crash? = nil, roomLeft: Int? = nil) {
    self.hasWorker = hasWorker
    self.commitsFirst = commitsFirst
    self.crash = crash
    self.roomLeft = roomLeft
    service = Self.service(surroundings, origin, told)
    if hasWorker { worker = Self.worker(surroundings, origin) }
    connect()
    service.start()
    worker?.start(afterCrash: false)
  }

  // MARK: Processes

  /// The owners of timers.
  private static let (serviceNumber, workerNumber) = (1, 2)

  private static func service(
    _ surroundings: SharedEnvironment, _ origin: ScriptedOrigin, _ told: Told
  ) -> ServiceProcess<ScriptedEngine> {
    let clock = surroundings.clock
    return ServiceProcess(surroundings, timers: clock.timers(of: serviceNumber)) { feed in
      told.fragments += feed.fragments.filter { !$0.isProgressOnly }
    } engine: { relay in
      ScriptedEngine(origin, relay) { clock.now }
    }
  }

  private static func worker(
    _ surroundings: SharedEnvironment, _ origin: ScriptedOrigin
  ) -> WorkerProcess<ScriptedEngine> {
    let clock = surroundings.clock
    return WorkerProcess(surroundings, timers: clock.timers(of: workerNumber)) { relay in
      ScriptedEngine(origin, relay) { clock.now }
    }
  }

  /// Connects the wakers of the two processes.
  private func connect() {
    service.workerWaker.pull(worker.map { [$0.waker] } ?? [])
    worker?.serviceWaker.pull([service.waker])
  }

  private func restart(_ crash: Crash) {
    let victims = crash.victims
    if victims.hasService { service = Self.service(surroundings, origin, told) }
    if victims.hasWorker, hasWorker { worker = Self.worker(surroundings, origin) }
    connect()
    if victims.hasService { service.start() }
    if victims.hasWorker { worker?.start(afterCrash: crash.isWorkersFault) }
  }

  private func kill(_ service: ServiceProcess<ScriptedEngine>, keeping count: Int = 0) {
    service.kill(keeping: count)
    clock.forget(Self.serviceNumber)
  }

  private func kill(_ worker: WorkerProcess<ScriptedEngine>, keeping count: Int = 0) {
    worker.kill(keeping: count)
    clock.forget(Self.workerNumber)
  }

  /// Restarts processes that could not start because their disk was full.
  private func startAgain() {
    let (hasNoService, hasNoWorker) = (service.hasFailed, worker?.hasFailed == true)
    if hasNoService { kill(service) }
    if hasNoWorker, let worker { kill(worker) }
    guard hasNoService || hasNoWorker else { return }
    restart(
      Crash(commit: 0, victims: hasNoService && hasNoWorker ? .both : hasNoService ? .service : .worker))
  }

  private func carryOut(_ crash: Crash) throws {
    self.crash = crash.again.map { Crash(commit: commits + $0, victims: crash.victims) }
    hasCrashed = true
    let victims = crash.victims
    if victims.hasService {
      waitedAtCrash = max(waitedAtCrash, service.store.waitingCount)
      kill(service, keeping: crash.keeping)
    }
    if victims.hasWorker, let worker {
      waitedAtCrash = max(waitedAtCrash, worker.store.waitingCount)
      kill(worker, keeping: crash.keeping)
    }
    if let earlier { surroundings.database = earlier }
    checkTold()
    if victims.isForAWhile { try run { false } }
    restart(crash)
    if victims.hasService { throw Lost() }
  }

  // MARK: Time

  /// Performs actions until none is left.
  /// - Parameter isDone: the condition for an earlier end.
  /// - Returns: whether the condition was met.
  @discardableResult
  private func run(until isDone: () -> Bool) throws -> Bool {
    while true {
      executor.run()
      if isDone() { return true }
      guard try step() else {
        guard isFull else { return false }
        setFull(false)
        startAgain()
        continue
      }
      steps += 1
      guard steps < Self.mostSteps else {
        faults.append("the world did not come to rest")
        throw Lost()
      }
    }
  }

  private func step() throws -> Bool {
    if commitsFirst, try commit() { return true }
    if service.answerBell() { return true }
    if let worker, worker.answerBell() { return true }
    if service.engine.step() { return true }
    if let worker, worker.engine.step() { return true }
    if try commit() { return true }
    return dispatch()
  }

  private func commit() throws -> Bool {
    var stores = [service.store, worker?.store].compactMap { $0 }.filter { $0.waitingCount > 0 }
    guard !stores.isEmpty else { return false }
    if let crash, commits == crash.commit {
      try carryOut(crash)
      return true
    }
    if let roomLeft, commits >= roomLeft {
      self.roomLeft = nil
      setFull(true)
    }
    if let crash, crash.forgets { earlier = surroundings.database.copy() }
    effects += 1
    if effects.isMultiple(of: 2) { stores.reverse() }
    commits += 1
    return stores.contains { $0.commitNext() }
  }

  private func setFull(_ isFull: Bool) {
    self.isFull = isFull
    for store in [service.store, worker?.store] { store?.set(isFull ? .full : nil) }
  }

  /// Answers the oldest message that was sent.
  private func dispatch() -> Bool {
    guard service.isServing, !service.sender.isEmpty else { return false }
    let post = service.sender.take(0)
    sent.append(post)
    post.respond(204, post.decision == nil ? "" : reply(post) ?? "")
    return true
  }

  /// Performs all actions that are possible now.
  func rest() throws { try run { false } }

  /// Performs all actions, and lets time pass until nothing more will happen.
  func settle() throws {
    for _ in 0..<50 {
      try run { false }
      if clock.fireNext() { continue }
      let before = steps
      clock.advance(3600)
      wakeDeadlines()
      try run { false }
      if steps == before, !clock.hasAlarms { return }
    }
    faults.append("the world did not come to rest")
  }

  /// Lets time pass until the next timer is due.
  func letTimePass() { if !clock.fireNext() { wakeDeadlines() } }

  private func wakeDeadlines() {
    service.service.runtime.deadlines.wake()
    worker?.worker.deadlines.wake()
  }

  // MARK: Clients

  /// Calls the service, and waits for its reply.
  /// - Throws: `Lost` if there is no reply, and the errors of the service.
  func call<T: Sendable>(
    _ body: @escaping @Sendable (TransferService) async throws -> T
  ) throws -> T {
    try run { self.service.isServing }
    let service = service
    let box = Reply<T>()
    executor.spawn {
      do { box.value = .success(try await body(service.service)) } catch { box.value = .failure(error) }
    }
    for _ in 0..<20 {
      if try run(until: { box.value != nil }), let value = box.value { return try value.get() }
      letTimePass()
    }
    faults.append("a call did not return")
    throw Lost()
  }

  /// Reads the database, whichever processes are alive.
  func read<T: Sendable>(_ body: @escaping @Sendable (SimulatedLedger) async throws -> T) -> T? {
    let store = SimulatedLedger(on: surroundings.database)
    let box = Reply<T>()
    executor.spawn {
      do { box.value = .success(try await body(store)) } catch { box.value = .failure(error) }
    }
    executor.run()
    guard case .success(let value)? = box.value else {
      faults.append("the database cannot be read")
      return nil
    }
    return value
  }

  /// Checks that all events received by streams are in the database, so that no crash can undo them.
  private func checkTold() {
    let told = told.fragments
    guard let sessions = read({ store in Set(try await store.sessions().map(\.session.id)) }),
      let page = read({ try await $0.journal(.tenant(.default), after: 0, maximumBytes: 1 << 30) })
    else { return }
    let kept = Dictionary(uniqueKeysWithValues: page.fragments.map { ($0.first, $0.bytes) })
    for (earlier, later) in zip(told, told.dropFirst()) where later.first <= earlier.last {
      faults.append("event \(later.first) was published twice")
    }
    for fragment in told where sessions.contains(fragment.sessionID) && kept[fragment.first] != fragment.bytes
    {
      // A session that is being deleted loses its events first.
      if acknowledged.invalidated.contains(fragment.sessionID), kept[fragment.first] == nil { continue }
      faults.append("a stream showed event \(fragment.first), which is not in the journal")
    }
  }
}

/// The fragments that streams received. For one thread.
private final class Told: @unchecked Sendable {
  var fragments: [JournalFragment] = []
}

/// The reply to a call. For one thread.
private final class Reply<T>: @unchecked Sendable {
  var value: Result<T, any Error>?
}

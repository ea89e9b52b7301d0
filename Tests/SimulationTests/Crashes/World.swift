import JSON
import Ledger
import MemoryLedger
import SimulatedStores
import Simulation
import TransferModel

@testable import TransferService

/// A service and a worker on one database in memory, with scripted engines, no socket, no thread and a clock that moves when the
/// world says so. One thing happens at a time, and always in the same order; at one commit a process may crash, and another takes
/// its place. For one thread.
final class World: @unchecked Sendable {
  enum Victims: String, CaseIterable, Sendable {
    case service, worker, both
    /// The other process goes on as far as it can before this one is there again.
    case serviceForAWhile, workerForAWhile

    var hasService: Bool { self == .service || self == .both || self == .serviceForAWhile }
    var isForAWhile: Bool { self == .serviceForAWhile || self == .workerForAWhile }
    var hasWorker: Bool { self == .worker || self == .both || self == .workerForAWhile }
  }
  struct Crash: Sendable {
    /// So many changes were committed before it.
    var commit: Int
    var victims: Victims
    /// Changes that were not acknowledged and have reached the database all the same, of each process that dies.
    var keeping = 0
    /// The worker did not go by itself: one of its tasks may have been what it died of.
    var isWorkersFault = false
    /// So many commits later the same happens again; nil: it does not.
    var again: Int?
    /// The database loses the last commit though it was acknowledged. No world stands that: its checks are tried so.
    var forgets = false
  }
  /// Whoever was asked is gone.
  struct Lost: Error {}

  /// What a client was told.
  struct Acknowledged {
    var sessions: Set<SessionID> = []
    var tasks: Set<TaskID> = []
    var cancelled: Set<TaskID> = []
    var suspended: Set<TaskID> = []
    var answered: Set<DecisionID> = []
    var invalidated: Set<SessionID> = []
    var deleted: Set<SessionID> = []
  }

  static let start = WorldClock.start
  /// A world in which so much happens never comes to rest.
  private static let mostSteps = 20_000

  private var surroundings = Surroundings(executor: ManualExecutor(), clock: WorldClock())
  var executor: ManualExecutor { surroundings.executor }
  let origin = ScriptedOrigin()
  var clock: WorldClock { surroundings.clock }
  /// Fragments that streams were given.
  private let told = Told()
  let hasWorker: Bool
  /// Changes are committed as soon as they wait; else when nothing else can happen.
  let commitsFirst: Bool
  var acknowledged = Acknowledged()
  /// What is wrong, in words.
  var faults: [String] = []
  /// Messages that were sent, by whom they told.
  var sent: [WebhookDelivery] = []
  /// How a webhook answers a question.
  var reply: (WebhookDelivery) -> String? = { _ in nil }
  private(set) var commits = 0
  /// Changes that waited when the crash came.
  private(set) var waitedAtCrash = 0
  private(set) var hasCrashed = false
  private(set) var service: ServiceProcess<ScriptedCarrier>
  private(set) var worker: WorkerProcess<ScriptedCarrier>?
  private var crash: Crash?
  /// The database as it was before the last commit, where that is to be lost.
  private var earlier: SimulatedDatabase?
  /// So many changes are committed, and then the disk is full until nothing else can happen.
  private var roomLeft: Int?
  private var isFull = false
  private var steps = 0
  private var turn = 0
  private var isDispatching = false

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

  /// Whose alarms are whose.
  private static let (serviceNumber, workerNumber) = (1, 2)

  private static func service(
    _ surroundings: Surroundings, _ origin: ScriptedOrigin, _ told: Told
  ) -> ServiceProcess<ScriptedCarrier> {
    let clock = surroundings.clock
    return ServiceProcess(surroundings, alarms: clock.alarms(of: serviceNumber)) { feed in
      told.fragments += feed.fragments.filter { !$0.isProgressOnly }
    } engine: { relay in
      ScriptedCarrier(origin, relay) { clock.now }
    }
  }

  private static func worker(
    _ surroundings: Surroundings, _ origin: ScriptedOrigin
  ) -> WorkerProcess<ScriptedCarrier> {
    let clock = surroundings.clock
    return WorkerProcess(surroundings, alarms: clock.alarms(of: workerNumber)) { relay in
      ScriptedCarrier(origin, relay) { clock.now }
    }
  }

  /// Each rings for the other, whichever of them there is.
  private func connect() {
    service.workerBell.pull(worker.map { [$0.bell] } ?? [])
    worker?.serviceBell.pull([service.bell])
  }

  private func restart(_ crash: Crash) {
    let victims = crash.victims
    if victims.hasService { service = Self.service(surroundings, origin, told) }
    if victims.hasWorker, hasWorker { worker = Self.worker(surroundings, origin) }
    connect()
    if victims.hasService { service.start() }
    if victims.hasWorker { worker?.start(afterCrash: crash.isWorkersFault) }
  }

  private func kill(_ service: ServiceProcess<ScriptedCarrier>, keeping count: Int = 0) {
    service.kill(keeping: count)
    clock.forget(Self.serviceNumber)
  }

  private func kill(_ worker: WorkerProcess<ScriptedCarrier>, keeping count: Int = 0) {
    worker.kill(keeping: count)
    clock.forget(Self.workerNumber)
  }

  /// Who cannot begin, as its disk is full, ends, and somebody starts another.
  private func startAgain() {
    let (hasNoService, hasNoWorker) = (service.hasFailed, worker?.hasFailed == true)
    if hasNoService { kill(service) }
    if hasNoWorker, let worker { kill(worker) }
    guard hasNoService || hasNoWorker else { return }
    isDispatching = false
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
    isDispatching = false
    if let earlier { surroundings.database = earlier }
    checkTold()
    if victims.isForAWhile { try run { false } }
    restart(crash)
    if victims.hasService { throw Lost() }
  }

  // MARK: Time

  /// Does all that can be done now.
  /// - Parameter isDone: ends it before.
  /// - Returns: whether it was that.
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
        faults.append("the world does not come to rest")
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
    turn += 1
    if turn.isMultiple(of: 2) { stores.reverse() }
    commits += 1
    return stores.contains { $0.commitNext() }
  }

  private func setFull(_ isFull: Bool) {
    self.isFull = isFull
    for store in [service.store, worker?.store] { store?.set(isFull ? .full : nil) }
  }

  /// Sends the messages that are due.
  private func dispatch() -> Bool {
    guard service.isServing, !isDispatching, service.mustDispatch else { return false }
    service.mustDispatch = false
    isDispatching = true
    let service = service
    executor.spawn { [self] in
      let due = (try? await service.service.dueDeliveries(limit: 10)) ?? []
      for delivery in due where !service.isDead {
        await service.service.willAttempt(delivery)
        guard !service.isDead else { return }
        sent.append(delivery)
        if delivery.decisionID != nil, let text = reply(delivery) { await answer(delivery, text, service) }
        var after = delivery
        (after.state, after.attempts, after.finishedAt) = (.delivered, 1, clock.now)
        let settled = after
        await withCheckedContinuation { continuation in
          service.service.recordAttempts([settled]) { continuation.resume() }
        }
      }
      guard service === self.service else { return }
      isDispatching = false
      service.mustDispatch = service.mustDispatch || !due.isEmpty
    }
    return true
  }

  private func answer(
    _ delivery: WebhookDelivery, _ text: String, _ service: ServiceProcess<ScriptedCarrier>
  ) async {
    guard let decision = delivery.decisionID, let value = try? JSONParser.parse(Array(text.utf8)) else {
      return
    }
    if (try? await service.service.answer(to: delivery, with: value)) != nil {
      acknowledged.answered.insert(decision)
    }
  }

  /// Does all that can be done, however long it takes.
  /// Does all that can be done now.
  func rest() throws { try run { false } }

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
    faults.append("the world does not come to rest")
  }

  /// Until something is due.
  func letTimePass() { if !clock.fireNext() { wakeDeadlines() } }

  private func wakeDeadlines() {
    service.service.room.deadlines.wake()
    worker?.worker.deadlines.wake()
  }

  // MARK: Clients

  /// Asks the service, and waits for its reply.
  /// - Throws: `Lost` where there is none; and what the service throws.
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
    faults.append("a call does not return")
    throw Lost()
  }

  /// Reads the database, whoever lives.
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

  /// What was told is in the database: nothing that a crash takes back.
  private func checkTold() {
    let told = told.fragments
    guard let sessions = read({ store in Set(try await store.sessions().map(\.session.id)) }),
      let page = read({ try await $0.journal(.tenant(.default), after: 0, maximumBytes: 1 << 30) })
    else { return }
    let kept = Dictionary(uniqueKeysWithValues: page.fragments.map { ($0.first, $0.bytes) })
    for (earlier, later) in zip(told, told.dropFirst()) where later.first <= earlier.last {
      faults.append("the number \(later.first) was told twice")
    }
    for fragment in told where sessions.contains(fragment.sessionID) && kept[fragment.first] != fragment.bytes
    {
      // A session that is being deleted loses its events first.
      if acknowledged.invalidated.contains(fragment.sessionID), kept[fragment.first] == nil { continue }
      faults.append("a stream told \(fragment.first), and the journal does not")
    }
  }
}

/// What streams were given. For one thread.
private final class Told: @unchecked Sendable {
  var fragments: [JournalFragment] = []
}

/// Where the reply to a call is put. For one thread.
private final class Reply<T>: @unchecked Sendable {
  var value: Result<T, any Error>?
}

internal import EngineAPI
internal import Ledger
internal import SimulatedStores
internal import TransferCore
internal import TransferModel
internal import TransferService

/// A simulation of services, workers and their environment in one thread. One thing happens at a time, determined by the plan and its
/// random numbers. Services, workers and the in-memory ledger are real; durable ledgers, blob stores, engines, clocks, clients and
/// receivers are stand-ins.
package final class SimulatedWorld: @unchecked Sendable {
  package let plan: Plan
  let executor = ManualExecutor()
  let clock = SimulatedClock()
  let origins = SimulatedOrigins()
  let chronicle: CommitHistory
  var surroundings: SharedEnvironment
  let places: SimulatedRegistrations
  var services: [ServiceNode] = []
  /// Services that can no longer be reached.
  var lost: [ServiceNode] = []
  /// Services that have committed events of which the others were not notified yet.
  var writers: Set<Int> = []
  var errands: [ClientCall] = []
  /// The number of requests so far.
  var errandCount = 0
  /// Decides which service a client calls, and the fate of requests to a frozen service.
  var route: RandomSource
  /// The last one is the current worker. The others were overtaken, and may not know.
  var workers: [WorkerNode] = []
  /// The overtaken workers that never recover.
  var lostWorkers: [WorkerNode] = []
  /// Whether all databases refuse writes, because the disk is full.
  var isFull = false
  /// The source of ids and of the seeds of processes.
  let entropy: SharedRandom
  var nodes = 0
  /// The stores of processes that have ended.
  var closedStores: [SimulatedLedger] = []
  var departed: [ServiceNode] = []
  var acknowledged = Acknowledged()
  var readers: [Reader] = []
  var senders: [BodySender] = []
  /// The trace of events, if one is wanted.
  var trace: [String]?
  var isHealed = false

  package private(set) var stepCount = 0
  package var faultCount = 0
  package var lives: Int { chronicle.ended }
  package var hash: UInt64 { chronicle.hash }

  /// A shared source of random numbers. For one thread.
  final class SharedRandom: @unchecked Sendable {
    private var random: RandomSource
    init(seed: UInt64) { random = RandomSource(seed: seed) }
    func next() -> UInt64 { random.next() }
  }

  /// The replies that clients have received.
  struct Acknowledged {
    var tasks: [TaskID: Tenant] = [:]
    var sessions: [SessionID: Tenant] = [:]
    var deleted: Set<SessionID> = []
    var patches: [TaskID: Patch] = [:]
    var keys: [KeyUse] = []
    var cancelled: Set<TaskID> = []

    struct Patch {
      var known = 0
      var last = 0
      var isUnderWay = false
    }
    struct KeyUse {
      let key: IdempotencyKey
      let session: SessionID
      var reply: [UInt8]?
      var madeAt: Timestamp?
    }
  }

  package init(_ plan: Plan, traces: Bool = false) {
    self.plan = plan
    chronicle = CommitHistory()
    entropy = SharedRandom(seed: plan.seed ^ 0x5DEE_CE66)
    route = RandomSource(seed: plan.seed ^ 0x0BAD_CAFE)
    places = SimulatedRegistrations(clock: clock)
    let executor = executor
    surroundings = SharedEnvironment(
      executor: executor, clock: clock, spawn: TaskSpawner { executor.postpone($0) })
    // In every other world, all waiting tasks are evicted.
    if plan.seed.isMultiple(of: 2) { surroundings.limits.residentTaskBytes = 0 }
    // In half of these worlds, only few of a session's tasks are submitted at once.
    if plan.seed.isMultiple(of: 4) { surroundings.limits.submittedTaskBytes = 150 }
    origins.temper = plan.temper
    // In every third world, the blob store is slow: other steps come before its results.
    if plan.seed.isMultiple(of: 3) {
      surroundings.answersBlobs = { [executor] waiting in executor.postpone { waiting.answer() } }
    }
    if traces { trace = [] }
    origins.fault = { [chronicle] in chronicle.violate($0, $1) }
    if traces { chronicle.trace = { [unowned self] in self.trace?.append($0) } }
    startAgain()
  }

  /// Ends all processes, so that none keeps another in memory.
  func end() {
    for reader in readers { reader.subscription?.close() }
    for sender in senders { sender.upload.stream.cancel() }
    errands = []
    for node in services + lost { node.process.kill(keeping: 0) }
    for node in workers + lostWorkers { node.process.kill(keeping: 0) }
    executor.run()
    closedStores += stores + lost.map(\.process.store) + lostWorkers.map(\.process.store)
    departed += services + lost
    (services, lost, workers, lostWorkers) = ([], [], [], [])
    for node in departed { node.process.service.beginDraining() }
    // The calls have no effect, but a pending call would never be freed.
    for _ in 0..<Self.mostFarewells {
      var hasFound = false
      for store in closedStores where store.letGo() { hasFound = true }
      while executor.postponedCount > 0 { executor.begin(0) }
      executor.run()
      if !hasFound { break }
    }
  }

  private static let mostFarewells = 20

  // MARK: Steps

  /// Runs the plan.
  /// - Throws: the first violation.
  package func live() throws(Violation) {
    defer { end() }
    for step in plan.steps {
      stepCount += 1
      if step.kind.isFault { faultCount += 1 }
      if trace != nil { trace?.append("\(stepCount). \(step)") }
      perform(step)
      try check()
    }
    try finish()
  }

  func check() throws(Violation) {
    executor.run()
    if let worker, worker.isDrained { replaceDrained(worker) }
    retire()
    ringForOthers()
    guard var first = chronicle.violations.first else { return }
    first.step = stepCount
    throw first
  }

  private func perform(_ step: SimulationStep) {
    var luck = RandomSource(seed: step.luck)
    switch step.kind {
    case .createSession: createSession(&luck)
    case .createTask: createTasks(1, &luck)
    case .createBatch: createTasks(1 + luck.below(plan.kinds.batch), &luck)
    case .createUnderKey: createUnderKey(&luck)
    case .resume: resume(&luck)
    case .suspend: suspend(&luck)
    case .cancel: cancel(&luck)
    case .cancelForResumeData: cancelForResumeData(&luck)
    case .patch: patch(&luck)
    case .answer: answer(&luck, isLate: false)
    case .answerLate: answer(&luck, isLate: true)
    case .sendBody: sendBody(&luck)
    case .cross: raceDecision(&luck)
    case .invalidate: invalidate(&luck)
    case .deleteSession: deleteSession(&luck)
    case .reset: reset(&luck, flushes: false)
    case .flush: reset(&luck, flushes: true)
    case .waitForEnd: waitForEnd(&luck)
    case .look: look(&luck)
    case .peek: peek(&luck)
    case .openStream: openStream(&luck)
    case .readStreams: readStreams()
    case .dropStream: dropStream(&luck)
    case .deliver: deliver(&luck)
    case .work: for _ in 0...luck.below(24) where !work(&luck) { break }
    case .commit: commit(&luck)
    case .engines: for _ in 0...luck.below(4) { runEngines(&luck) }
    case .wakers: answerBells()
    case .pass: fireNext(within: .seconds(120))
    case .tick: tick()
    default: performFault(step.kind, &luck)
    }
  }

  private func performFault(_ kind: SimulationStep.Kind, _ luck: inout RandomSource) {
    switch kind {
    case .crashService: killService(&luck)
    case .crashWorker: killWorker(&luck)
    case .crashBoth:
      killService(&luck)
      killWorker(&luck)
    case .strike: crashWorkerAfterFact(&luck)
    case .freezeService: freeze(pickService(&luck) { _ in true }, true)
    case .overtake: overtake(&luck)
    case .meet: freezeDuringDownload(&luck)
    case .wake: wake(&luck)
    case .cutOff: cutOff(&luck)
    case .freezeWorker: freeze(worker, true)
    case .overtakeWorker: overtakeWorker(&luck)
    case .thaw:
      wake(&luck)
      freeze(luck.pick(workers.filter(\.isFrozen)), false)
    case .startAgain: startAgain()
    case .upgradeService: upgradeService(&luck)
    case .upgradeWorker: upgradeWorker()
    case .fill:
      isFull = true
      for store in stores { store.set(.full) }
    case .keepOut: stores.isEmpty ? () : stores[luck.below(stores.count)].set(.unavailable)
    case .makeRoom: makeRoom()
    case .loseRings:
      for node in services {
        (node.process.waker.isRung, node.mustFollow, node.mustAttend) = (false, false, false)
      }
      for node in workers { node.process.waker.isRung = false }
    case .jumpForward: clock.advance(Double(luck.below(luck.chance(200) ? 200_000 : 300)))
    case .jumpBack: clock.advance(-Double(luck.below(luck.chance(200) ? 200_000 : 300)))
    case .sleep: pass(seconds: Double(luck.below(luck.chance(300) ? 20_000 : 90)))
    default: break
    }
  }

  // MARK: Actions of processes

  private static let actions = 9

  /// Performs one of the possible actions, chosen at random. Returns `false` if there is none.
  func work(_ luck: inout RandomSource) -> Bool {
    executor.run()
    if luck.chance(plan.kinds.commitsFirst), commit(&luck) { return true }
    let first = luck.below(Self.actions)
    for offset in 0..<Self.actions where act((first + offset) % Self.actions, &luck) {
      executor.run()
      retire()
      ringForOthers()
      return true
    }
    return false
  }

  func act(_ number: Int, _ luck: inout RandomSource) -> Bool {
    switch number {
    case 0: one(of: services, &luck) { node, _ in commitOne(node) }
    case 1: one(of: workers, &luck) { node, _ in commitOne(node) }
    case 2: one(of: services + lost, &luck) { step($0.process.engine, $0.isFrozen, &$1) }
    case 3: one(of: workers + lostWorkers, &luck) { step($0.process.engine, $0.isFrozen, &$1) }
    case 4: one(of: services, &luck) { node, _ in node.isRunning && node.process.answerBell() }
    case 5: one(of: workers, &luck) { node, _ in !node.isFrozen && node.process.answerBell() }
    case 6: beginPostponed(&luck)
    case 7: dispatch(&luck)
    default: one(of: services, &luck) { node, _ in goOnLeaving(node) || attend(node) || follow(node) }
    }
  }

  /// Performs the action on the first node that can, starting with a random one.
  func one<Node>(
    of nodes: [Node], _ luck: inout RandomSource, _ body: (Node, inout RandomSource) -> Bool
  ) -> Bool {
    let first = nodes.count > 1 ? luck.below(nodes.count) : 0
    return nodes.indices.contains { body(nodes[(first + $0) % nodes.count], &luck) }
  }

  private func step(
    _ engine: SimulatedEngine, _ isFrozen: Bool, _ luck: inout RandomSource
  ) -> Bool {
    guard !isFrozen, engine.canStep else { return false }
    engine.step(&luck)
    return true
  }

  private func beginPostponed(_ luck: inout RandomSource) -> Bool {
    let count = executor.postponedCount
    if count > 0 { executor.begin(luck.below(count)) }
    return count > 0
  }

  /// Performs random actions of the given kinds only, so that the other processes lag.
  /// - Parameter most: the upper bound of their number, exclusive.
  func goOn(_ actions: [Int], _ most: Int, _ luck: inout RandomSource) {
    for _ in 0..<luck.below(most) {
      _ = act(actions[luck.below(actions.count)], &luck)
      executor.run()
    }
  }

  /// Performs actions until the condition is met, with a limit.
  func goOn(_ luck: inout RandomSource, until isDone: (inout RandomSource) -> Bool) {
    for _ in 0..<Self.mostPatience { guard !isDone(&luck), work(&luck) else { return } }
  }

  private static let mostPatience = 60

  private func commitOne(_ node: ServiceNode) -> Bool {
    node.isRunning && node.process.store.commitNext()
  }

  private func commitOne(_ node: WorkerNode) -> Bool {
    !node.isFrozen && node.process.store.commitNext()
  }

  @discardableResult
  func commit(_ luck: inout RandomSource) -> Bool {
    let isServiceFirst = luck.chance(500)
    let (first, second) = isServiceFirst ? (0, 1) : (1, 0)
    let hasCommitted = act(first, &luck) || act(second, &luck)
    executor.run()
    return hasCommitted
  }

  private func runEngines(_ luck: inout RandomSource) {
    _ = act(luck.chance(500) ? 2 : 3, &luck)
    executor.run()
  }

  private func answerBells() {
    for node in services where node.isRunning { _ = node.process.answerBell() }
    for node in workers where !node.isFrozen { _ = node.process.answerBell() }
  }

  /// Performs the periodic work of each process.
  func tick() {
    pass(seconds: 5)
    for node in services where node.answers {
      node.process.service.pollWorkerReports()
      if !isHealed { node.process.service.lookForMessages() }
      (node.mustAttend, node.mustFollow) = (true, true)
    }
    for node in workers where !node.isFrozen && node.process.hasStarted {
      let worker = node.process.worker
      worker.follow()
      worker.pollCommands()
      worker.reviewDiscretionary()
    }
  }
}

internal import EngineAPI
internal import Ledger
internal import SimulatedStores
internal import TransferCore
internal import TransferModel
internal import TransferService

/// Services, workers and all that they deal with, in one thread: one thing happens at a time, and the plan and its luck decide which.
/// Services, workers and their stores are those that ship; engines, clocks, clients and receivers are stand-ins.
package final class SimulatedWorld: @unchecked Sendable {
  package let plan: Plan
  let executor = ManualExecutor()
  let clock = WorldClock()
  let origins = Origins()
  let chronicle: Chronicle
  var surroundings: Surroundings
  let places: ServicePlaces
  var services: [ServiceNode] = []
  /// Those that nobody reaches any more.
  var lost: [ServiceNode] = []
  /// Services that have committed events of which the others were not told yet.
  var writers: Set<Int> = []
  var errands: [Errand] = []
  /// Requests so far.
  var errandCount = 0
  /// Whom clients ask, and what becomes of requests to one that stands still.
  var route: RandomSource
  /// The last is the one that services ring for. The others were overtaken, and may not know.
  var workers: [WorkerNode] = []
  /// Those of them that are well no more, for ever.
  var lostWorkers: [WorkerNode] = []
  /// What both databases are kept from.
  var isFull = false
  /// Ids, and what processes begin with.
  let entropy: Entropy
  var nodes = 0
  /// The stores of processes that are gone.
  var graves: [SimulatedLedger] = []
  var departed: [ServiceNode] = []
  var acknowledged = Acknowledged()
  var readers: [Reader] = []
  var senders: [Sender] = []
  /// What happened, where somebody wants to know.
  var trace: [String]?
  var isHealed = false

  package private(set) var stepCount = 0
  package var faultCount = 0
  package var lives: Int { chronicle.ended }
  package var hash: UInt64 { chronicle.hash }

  /// Random numbers that are drawn by many. For one thread.
  final class Entropy: @unchecked Sendable {
    private var random: RandomSource
    init(seed: UInt64) { random = RandomSource(seed: seed) }
    func next() -> UInt64 { random.next() }
  }

  /// What a client was told.
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
    chronicle = Chronicle()
    entropy = Entropy(seed: plan.seed ^ 0x5DEE_CE66)
    route = RandomSource(seed: plan.seed ^ 0x0BAD_CAFE)
    places = ServicePlaces(clock: clock)
    let executor = executor
    surroundings = Surroundings(
      executor: executor, clock: clock, spawn: Spawn { executor.postpone($0) })
    // In every other world no task stays in memory while it waits.
    if plan.seed.isMultiple(of: 2) { surroundings.limits.residentTaskBytes = 0 }
    // In half of these, few of a session's tasks are submitted at once.
    if plan.seed.isMultiple(of: 4) { surroundings.limits.submittedTaskBytes = 150 }
    origins.temper = plan.temper
    // In every third world the blob store is slow: other steps come before its results.
    if plan.seed.isMultiple(of: 3) {
      surroundings.answersBlobs = { [executor] waiting in executor.postpone { waiting.answer() } }
    }
    if traces { trace = [] }
    origins.fault = { [chronicle] in chronicle.break_($0, $1) }
    if traces { chronicle.trace = { [unowned self] in self.trace?.append($0) } }
    startAgain()
  }

  /// No process keeps another alive.
  func end() {
    for reader in readers { reader.subscription?.close() }
    for sender in senders { sender.upload.stream.detach() }
    errands = []
    for node in services + lost { node.process.kill(keeping: 0) }
    for node in workers + lostWorkers { node.process.kill(keeping: 0) }
    executor.run()
    graves += stores + lost.map(\.process.store) + lostWorkers.map(\.process.store)
    departed += services + lost
    (services, lost, workers, lostWorkers) = ([], [], [], [])
    for node in departed { node.process.service.beginDraining() }
    // Nobody hears of it any more; but what waits for ever is never freed.
    for _ in 0..<Self.mostFarewells {
      var hasFound = false
      for store in graves where store.letGo() { hasFound = true }
      while executor.postponedCount > 0 { executor.begin(0) }
      executor.run()
      if !hasFound { break }
    }
  }

  private static let mostFarewells = 20

  // MARK: Steps

  /// - Throws: the first promise that is broken.
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

  private func perform(_ step: Step) {
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
    case .cross: cross(&luck)
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
    case .bells: answerBells()
    case .pass: fireNext(within: .seconds(120))
    case .tick: tick()
    default: performFault(step.kind, &luck)
    }
  }

  private func performFault(_ kind: Step.Kind, _ luck: inout RandomSource) {
    switch kind {
    case .crashService: killService(&luck)
    case .crashWorker: killWorker(&luck)
    case .crashBoth:
      killService(&luck)
      killWorker(&luck)
    case .strike: strike(&luck)
    case .freezeService: freeze(pickService(&luck) { _ in true }, true)
    case .overtake: overtake(&luck)
    case .meet: meet(&luck)
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
        (node.process.bell.isRung, node.mustFollow, node.mustAttend) = (false, false, false)
      }
      for node in workers { node.process.bell.isRung = false }
    case .jumpForward: clock.advance(Double(luck.below(luck.chance(200) ? 200_000 : 300)))
    case .jumpBack: clock.advance(-Double(luck.below(luck.chance(200) ? 200_000 : 300)))
    case .sleep: pass(seconds: Double(luck.below(luck.chance(300) ? 20_000 : 90)))
    default: break
    }
  }

  // MARK: What processes do

  private static let actions = 9

  /// One of the things that can happen now. False where none can.
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

  /// The first of those that does it; which is tried first, luck decides.
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

  /// One process does much, and nobody else anything: so it is when another stops at the worst moment.
  /// - Parameter most: less than so much.
  func goOn(_ actions: [Int], _ most: Int, _ luck: inout RandomSource) {
    for _ in 0..<luck.below(most) {
      _ = act(actions[luck.below(actions.count)], &luck)
      executor.run()
    }
  }

  /// What is wanted comes about, if nothing stands in its way.
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

  /// What each process does from time to time.
  func tick() {
    pass(seconds: 5)
    for node in services where node.answers {
      node.process.service.lookForNews()
      // The time of a message that failed may have come.
      node.process.mustDispatch = true
      (node.mustAttend, node.mustFollow) = (true, true)
    }
    for node in workers where !node.isFrozen && node.process.hasStarted {
      let worker = node.process.worker
      worker.follow()
      worker.lookForCommands()
      worker.reviewDiscretionary()
    }
  }
}

import Testing
import TransferModel

@testable import TransferCore

/// A small simulation of a service, a worker with an engine, and a ledger between them. Either process may die at any moment, and then
/// loses its latest uncommitted effects. One seed determines all events.
struct BackgroundTaskSimulation {
  /// The data on disk.
  struct Ledger {
    var session: TransferSession
    var lastIdentifier = 0
    var tasks: [TaskID: TransferTask] = [:]
    var events: [TransferEvent] = []
    var decisions: [DecisionID: Decision] = [:]
    var commands: [TransferCommand] = []
    var work: [TaskID: WorkState] = [:]
    var news: [TransferFact] = []

    struct Decision {
      let task: TaskID
      let number: Int?
      let kind: OpenDecision.Kind
      var states: [TransferModel.Decision.State] = []
    }
  }
  /// An attempt in the engine.
  struct Transfer {
    var session: SessionID
    var task: TransferTask
    var questions: Int
    var hasBegun = false
    var isSuspended = false
    var isCancelled = false
    var isAsked = false
  }

  var random: RandomSource
  var now = InputContext(wall: Timestamp(seconds: 1_700_000_000), uptime: .now)
  var ledger: Ledger
  var service: SessionMachine
  var worker = WorkerMachine(discretion: DiscretionaryPolicy())
  /// Effects that wait for their commit, in order.
  var serviceTurns: [SessionEffects] = []
  var workerTurns: [(effects: WorkerEffects, commands: Int)] = []
  var engine: [TaskID: Transfer] = [:]
  var identifiers: IdentifierGenerator
  /// Tasks whose creation was acknowledged to a client.
  var accepted: Set<TaskID> = []
  /// The number of requests sent for each task.
  var sends: [TaskID: Int] = [:]
  var alarms: [WorkerEffects.TimerChange] = []
  /// The number of worker reports that the service has read in effects that are not yet committed.
  var takenNews = 0

  init(seed: UInt64) {
    random = RandomSource(seed: seed)
    identifiers = IdentifierGenerator(seed: seed &+ 1)
    var delegate = SessionDelegate()
    delegate.taskChallenges = Bool.random(using: &random) ? .ask : nil
    let session = TransferSession(
      id: identifiers.make(at: now.wall), type: .background, createdAt: now.wall, description: nil,
      configuration: SessionConfiguration(), delegate: delegate, identifier: "world")
    ledger = Ledger(session: session)
    service = SessionMachine(session, limit: 1000)
    give(.session(session))
    give(.started)
  }

  // MARK: Service

  @discardableResult
  mutating func give(_ inputs: [SessionInput]) -> InputResult {
    var effects = SessionEffects(
      session: service.session.id, isCarriedElsewhere: true, identifiers: identifiers)
    var reply = InputResult.done
    for input in inputs { reply = service.handle(input, at: now, into: &effects) }
    identifiers = effects.identifiers
    serviceTurns.append(effects)
    return reply
  }

  mutating func create(_ method: String) {
    var specification = TaskSpecification(
      kind: .download, request: TransferRequest(url: "http://origin.test/", method: method))
    specification.resume = true
    let id: TaskID = identifiers.make(at: now.wall)
    guard case .created = give([.create([NewTask(id: id, specification)])]) else { return }
    // The client waits for the commit.
    while !serviceTurns.isEmpty { commitService() }
    accepted.insert(id)
    give([.created([id]), .begin(id)])
  }

  /// Commits the service's oldest effects.
  mutating func commitService() {
    guard !serviceTurns.isEmpty else { return }
    let effects = serviceTurns.removeFirst()
    apply(effects)
    if !effects.ended.isEmpty { give([.endsCommitted(effects.ended)]) }
  }

  private mutating func apply(_ effects: SessionEffects) {
    for task in effects.created + effects.updated + effects.respecified { ledger.tasks[task.id] = task }
    if let session = effects.sessionRow { ledger.session = session }
    ledger.lastIdentifier = max(ledger.lastIdentifier, effects.lastIdentifier ?? 0)
    ledger.events += effects.events.filter { !$0.type.isProgress }
    for inquiry in effects.newDecisions {
      guard let decision = inquiry.event.decision, let task = inquiry.event.taskID else { continue }
      ledger.decisions[decision.id] = .init(task: task, number: inquiry.number, kind: .challenge(.httpBasic))
    }
    for settlement in effects.decisionOutcomes {
      ledger.decisions[settlement.id]?.states.append(settlement.state)
    }
    ledger.commands += effects.workerCommands
    let taken = effects.takenNews.count
    ledger.news.removeFirst(taken)
    takenNews -= taken
  }

  /// Lets the service read some of the pending worker reports.
  mutating func readNews() {
    let page = ledger.news.dropFirst(takenNews).prefix(Int.random(in: 1...3, using: &random))
    guard !page.isEmpty else { return }
    takenNews += page.count
    give(page.map { .fact($0) })
    serviceTurns[serviceTurns.count - 1].takenNews = page.indices.map { Int64($0) }
  }

  /// Kills the service and starts another.
  mutating func restartService() {
    for _ in 0..<Int.random(in: 0...serviceTurns.count, using: &random) { apply(serviceTurns.removeFirst()) }
    serviceTurns = []
    takenNews = 0
    service = SessionMachine(ledger.session, lastIdentifier: ledger.lastIdentifier, limit: 1000)
    let unfinished = ledger.tasks.values.filter { $0.state != .completed }.sorted { $0.id < $1.id }
    give(unfinished.map { .recovered($0) })
    for (id, decision) in ledger.decisions.sorted(by: { $0.key < $1.key }) where decision.states.isEmpty {
      give([.recoverDecision(decision.task, id, number: decision.number, decision.kind, seconds: 60)])
    }
    var known = Set(ledger.commands.compactMap { if case .submit(let task) = $0 { task.id } else { nil } })
    for (id, state) in ledger.work.sorted(by: { $0.key < $1.key }) {
      known.insert(id)
      give([.isAtWorker(id, ReceivedCommands(state))])
    }
    while ledger.news.count > takenNews { readNews() }
    give([.workerTasksKnown(except: known)])
    give([.recoveredAll])
  }

  // MARK: Worker

  mutating func give(_ input: WorkerInput, takingCommand: Bool = false) {
    now.isServiceReachable = true
    var effects = WorkerEffects(random: random)
    worker.handle(input, at: now, into: &effects)
    random = effects.random
    workerTurns.append((effects, takingCommand ? 1 : 0))
    alarms += effects.timers
    for order in effects.engineCommands { perform(order) }
  }

  private mutating func perform(_ order: WorkerEffects.EngineCommand) {
    switch order {
    case .submit(let submission):
      #expect(engine[submission.task.id] == nil, "a task is submitted twice")
      engine[submission.task.id] = Transfer(
        session: submission.session.id, task: submission.task, questions: submission.questions)
    case .command(let command, let id, _):
      switch command {
      case .suspend: engine[id]?.isSuspended = true
      case .resume: engine[id]?.isSuspended = false
      case .cancel: engine[id]?.isCancelled = true
      case .answer(_, let number): if engine[id]?.questions == number { engine[id]?.isAsked = false }
      case .setPriority, .setLimit, .setBeginDate, .changeRequest, .retryNow: break
      }
    case .remove, .sessionCommand: break
    }
  }

  /// The number of commands that were read and are not yet committed.
  private var takenCommands: Int { workerTurns.reduce(0) { $0 + $1.commands } }

  mutating func readCommand() {
    guard ledger.commands.count > takenCommands else { return }
    let input: WorkerInput
    switch ledger.commands[takenCommands] {
    // The command has only the id; the task is in its row.
    case .submit(let task): input = .submit(ledger.tasks[task.id] ?? task, in: ledger.session)
    case .command(let command, let id): input = .command(command, id)
    case .releaseSession: input = .review
    }
    give(input, takingCommand: true)
  }

  mutating func commitWorker() {
    guard !workerTurns.isEmpty else { return }
    let (effects, commands) = workerTurns.removeFirst()
    apply(effects, commands)
    for (task, attempt) in effects.written { give(.attemptCommitted(task, attempt: attempt)) }
  }

  private mutating func apply(_ effects: WorkerEffects, _ commands: Int) {
    for row in effects.work { ledger.work[row.task] = row.state }
    for task in effects.finished { ledger.work[task] = nil }
    ledger.news += effects.facts
    ledger.commands.removeFirst(commands)
  }

  mutating func restartWorker(hasCrashed: Bool) {
    for _ in 0..<Int.random(in: 0...workerTurns.count, using: &random) {
      let (effects, commands) = workerTurns.removeFirst()
      apply(effects, commands)
    }
    workerTurns = []
    engine = [:]
    alarms = []
    worker = WorkerMachine(discretion: DiscretionaryPolicy())
    if hasCrashed { give(.wasCrash) }
    give(.session(ledger.session))
    for (id, state) in ledger.work.sorted(by: { $0.key < $1.key }) {
      guard let task = ledger.tasks[id] else { continue }
      give(.recovered(task, in: ledger.session, state, hasCrashed: hasCrashed))
    }
    // A worker waits for these commits before it starts.
    while !workerTurns.isEmpty { commitWorker() }
    while ledger.commands.count > takenCommands { readCommand() }
    give(.started)
  }
}

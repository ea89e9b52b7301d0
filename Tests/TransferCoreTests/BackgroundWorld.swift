import Testing
import TransferModel

@testable import TransferCore

/// A small world: a service, a worker with an engine, and a ledger between them. Either process dies at any moment, and what it had
/// not committed is lost from some place on. One seed decides everything.
struct BackgroundWorld {
  /// What is on the disk.
  struct Ledger {
    var session: TransferSession
    var lastIdentifier = 0
    var tasks: [TaskID: TransferTask] = [:]
    var events: [TransferEvent] = []
    var decisions: [DecisionID: Decision] = [:]
    var commands: [Order] = []
    var work: [TaskID: WorkState] = [:]
    var news: [TransferFact] = []

    struct Decision {
      let task: TaskID
      let number: Int?
      let kind: Question.Kind
      var states: [TransferModel.Decision.State] = []
    }
  }
  /// An attempt, as the engine sees it.
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
  var now = Now(wall: Timestamp(seconds: 1_700_000_000), uptime: .now)
  var ledger: Ledger
  var service: SessionMachine
  var worker = WorkerMachine(discretion: DiscretionaryPolicy())
  /// Turns that wait to be committed, in order.
  var serviceTurns: [Turn] = []
  var workerTurns: [(turn: WorkerTurn, commands: Int)] = []
  var engine: [TaskID: Transfer] = [:]
  var identifiers: IdentifierGenerator
  /// Tasks whose creation a client was told of.
  var accepted: Set<TaskID> = []
  /// How often a request was sent of each task.
  var sends: [TaskID: Int] = [:]
  var alarms: [WorkerTurn.Alarm] = []
  /// News that the service has taken, and whose commit does not hold yet.
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

  // MARK: The service

  @discardableResult
  mutating func give(_ inputs: [Input]) -> Reply {
    var turn = Turn(session: service.session.id, isCarriedElsewhere: true, identifiers: identifiers)
    var reply = Reply.done
    for input in inputs { reply = service.handle(input, at: now, into: &turn) }
    identifiers = turn.identifiers
    serviceTurns.append(turn)
    return reply
  }

  mutating func create(_ method: String) {
    var specification = TaskSpecification(
      kind: .download, request: TransferRequest(url: "http://origin.test/", method: method))
    specification.resume = true
    let id: TaskID = identifiers.make(at: now.wall)
    guard case .created = give([.create([NewTask(id: id, specification)])]) else { return }
    // A client's commit is waited for.
    while !serviceTurns.isEmpty { commitService() }
    accepted.insert(id)
    give([.created([id]), .begin(id)])
  }

  /// Commits the service's oldest turn.
  mutating func commitService() {
    guard !serviceTurns.isEmpty else { return }
    let turn = serviceTurns.removeFirst()
    apply(turn)
    if !turn.ended.isEmpty { give([.endHolds(turn.ended)]) }
  }

  private mutating func apply(_ turn: Turn) {
    for task in turn.created + turn.updated + turn.respecified { ledger.tasks[task.id] = task }
    if let session = turn.sessionRow { ledger.session = session }
    ledger.lastIdentifier = max(ledger.lastIdentifier, turn.lastIdentifier ?? 0)
    ledger.events += turn.events.filter { !$0.type.isProgress }
    for inquiry in turn.inquiries {
      guard let decision = inquiry.event.decision, let task = inquiry.event.taskID else { continue }
      ledger.decisions[decision.id] = .init(task: task, number: inquiry.number, kind: .challenge(.httpBasic))
    }
    for settlement in turn.settlements { ledger.decisions[settlement.id]?.states.append(settlement.state) }
    ledger.commands += turn.commands
    let taken = turn.takenNews.count
    ledger.news.removeFirst(taken)
    takenNews -= taken
  }

  /// The service looks for news, and takes some.
  mutating func readNews() {
    let page = ledger.news.dropFirst(takenNews).prefix(Int.random(in: 1...3, using: &random))
    guard !page.isEmpty else { return }
    takenNews += page.count
    give(page.map { .fact($0) })
    serviceTurns[serviceTurns.count - 1].takenNews = page.indices.map { Int64($0) }
  }

  /// The service dies, and another takes its place.
  mutating func restartService() {
    for _ in 0..<Int.random(in: 0...serviceTurns.count, using: &random) { apply(serviceTurns.removeFirst()) }
    serviceTurns = []
    takenNews = 0
    service = SessionMachine(ledger.session, lastIdentifier: ledger.lastIdentifier, limit: 1000)
    let unfinished = ledger.tasks.values.filter { $0.state != .completed }.sorted { $0.id < $1.id }
    give(unfinished.map { .recovered($0) })
    for (id, decision) in ledger.decisions.sorted(by: { $0.key < $1.key }) where decision.states.isEmpty {
      give([.waits(decision.task, id, number: decision.number, decision.kind, seconds: 60)])
    }
    var known = Set(ledger.commands.compactMap { if case .submit(let task) = $0 { task.id } else { nil } })
    for (id, state) in ledger.work.sorted(by: { $0.key < $1.key }) {
      known.insert(id)
      give([.isElsewhere(id, Elsewhere(state))])
    }
    while ledger.news.count > takenNews { readNews() }
    give([.allElsewhereKnown(except: known)])
    give([.recoveredAll])
  }

  // MARK: The worker

  mutating func give(_ input: WorkerInput, takingCommand: Bool = false) {
    now.isServiceThere = true
    var turn = WorkerTurn(random: random)
    worker.handle(input, at: now, into: &turn)
    random = turn.random
    workerTurns.append((turn, takingCommand ? 1 : 0))
    alarms += turn.alarms
    for order in turn.orders { perform(order) }
  }

  private mutating func perform(_ order: WorkerTurn.Order) {
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
      case .setPriority, .setLimit, .setBeginDate: break
      }
    case .remove, .aside: break
    }
  }

  /// The commands that are taken, and not committed yet.
  private var takenCommands: Int { workerTurns.reduce(0) { $0 + $1.commands } }

  mutating func readCommand() {
    guard ledger.commands.count > takenCommands else { return }
    let input: WorkerInput
    switch ledger.commands[takenCommands] {
    // The rest is in the task's row.
    case .submit(let task): input = .submit(ledger.tasks[task.id] ?? task, in: ledger.session)
    case .command(let command, let id): input = .command(command, id)
    case .forgetSession: input = .review
    }
    give(input, takingCommand: true)
  }

  mutating func commitWorker() {
    guard !workerTurns.isEmpty else { return }
    let (turn, commands) = workerTurns.removeFirst()
    apply(turn, commands)
    for (task, attempt) in turn.written { give(.written(task, attempt: attempt)) }
  }

  private mutating func apply(_ turn: WorkerTurn, _ commands: Int) {
    for row in turn.work { ledger.work[row.task] = row.state }
    for task in turn.finished { ledger.work[task] = nil }
    ledger.news += turn.facts
    ledger.commands.removeFirst(commands)
  }

  mutating func restartWorker(hasCrashed: Bool) {
    for _ in 0..<Int.random(in: 0...workerTurns.count, using: &random) {
      let (turn, commands) = workerTurns.removeFirst()
      apply(turn, commands)
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
    // That is waited for.
    while !workerTurns.isEmpty { commitWorker() }
    while ledger.commands.count > takenCommands { readCommand() }
    give(.started)
  }
}

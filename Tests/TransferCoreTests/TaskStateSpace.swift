import HTTPFields
import LifeCycle
import TransferModel

@testable import TransferCore

/// One task with its client, its delegate, its engine and its commits. A value type, so that a copy can continue in another way.
struct TaskStateSpace {
  enum Move: String, CaseIterable, Hashable {
    case createdHolds, isRefused, endHolds
    case suspends, resumes, cancels, invalidates
    case answers, becomesDownload, refuses, expires
    /// The engine receives its oldest command.
    case orderArrives
    case begins, challenges, redirects, responds, caches, succeeds, fails
    /// The engine ends a task that was cancelled.
    case endsCancelled
    /// The session is being handed over, and arrives at another service once no task runs here.
    case leaves, arrives
    /// The client changes the request.
    case changesRequest
  }
  /// The state of the task in the engine.
  enum Progress: Hashable { case absent, queued, requesting, answered, over }
  struct Engine: Hashable {
    var progress = Progress.absent
    var isSuspended = false
    var isCancelled = false
    var isDownload = false
    /// The number of the decision that the engine waits for.
    var question: Int?
    var asked = 0
  }
  struct Violation: Error, CustomStringConvertible {
    let path: [Move]
    let what: String
    var description: String { "\(what): \(path.map(\.rawValue).joined(separator: ", "))" }
  }
  /// The parts of the state that determine which moves and events are possible.
  struct Key: Hashable {
    let places: [Int]
    let questions: [Int?]
    let states: [TaskState?]
    let suspensions: [Int?]
    let phases: [TaskPhase?]
    let lives: [TaskLifeAutomaton]
    let orders: [Int]
    let engine: Engine
    let left: Set<Move>
    let session: SessionState
    let isCreating: Bool
    let ends: Int
  }

  private(set) var stage: SessionMachineHarness
  private(set) var path: [Move] = []
  private let task: TaskID
  private var tasks: [TaskID]
  private var lives: [TaskLifeAutomaton]
  private var sessionLife = SessionLifeAutomaton(.default)
  private var engine = Engine()
  private var orders: [TransferCommand] = []
  private var isCreating = true
  /// Ends that are not committed yet.
  private var ends: [TaskID] = []
  /// Moves that happen at most once, and have not happened yet.
  private var left: Set<Move> = [
    .isRefused, .suspends, .resumes, .cancels, .invalidates, .challenges, .redirects,
  ]
  private var heard = 0
  /// The URLs with which attempts may begin.
  private var urls: Set<String> = ["http://origin.test/a", "http://origin.test/b"]

  /// - Parameters:
  ///   - leaves: whether the session may be handed over.
  ///   - changes: whether the client may change the request.
  init(isDelayed: Bool, leaves: Bool, changes: Bool = false) throws {
    if changes { left.insert(.changesRequest) }
    if leaves { left.formUnion([.leaves, .arrives]) }
    var delegate = SessionDelegate()
    delegate.taskChallenges = .ask
    delegate.asksForRedirects = true
    delegate.asksForResponses = true
    delegate.asksForCaching = true
    delegate.asksForDelayedRequests = true
    stage = SessionMachineHarness(.default, delegate: delegate)
    task = TaskID(high: 1, low: 1)
    tasks = [task]
    var specification = TaskSpecification(
      kind: .data, request: TransferRequest(url: "http://origin.test/a", method: "GET"))
    if isDelayed { specification.earliestBeginDate = stage.now.wall }
    specification.resume = true
    let session = stage.machine.session
    // The task that `create` will make.
    let created = TransferTask(
      id: task, sessionID: session.id, taskIdentifier: 1, createdAt: stage.now.wall,
      specification: specification)
    lives = [TaskLifeAutomaton(TaskTraits(of: created, in: session))]
    guard case .created = try give(.create([NewTask(id: task, specification)])) else {
      throw Violation(path: [], what: "the session refused a task")
    }
  }

  var isOver: Bool { !isCreating && stage.machine.unfinished == 0 }

  var key: Key {
    let machines = tasks.map { stage.machine.task($0) }
    return Key(
      places: machines.map { $0.map { Self.number(of: $0) } ?? 0 },
      questions: machines.map { $0?.question?.number }, states: machines.map { $0?.task.state },
      suspensions: machines.map { $0?.task.lifecycle.suspendCount },
      phases: machines.map { $0?.task.phase },
      lives: lives, orders: orders.map { Self.number(of: $0) }, engine: engine, left: left,
      session: stage.machine.session.state, isCreating: isCreating, ends: ends.count)
  }

  private static func number(of machine: TaskMachine) -> Int {
    switch machine.executionState {
    case .creating: 1
    case .idle: machine.question != nil ? 4 : machine.task.firstAttempt == .notStarted ? 3 : 2
    case .unconfirmed: 5
    case .executing: machine.question == nil ? 6 : 7
    case .leaving: 10
    case .restarting: 11
    case .placing: 12
    case .ending: 9
    }
  }

  private static func number(of order: TransferCommand) -> Int {
    switch order {
    case .submit: 1
    case .command(.suspend, _): 2
    case .command(.resume, _): 3
    case .command(.cancel, _): 4
    case .command(.answer(_, let question), _): 100 + question
    case .command: 5
    case .releaseSession: 6
    }
  }

  // MARK: Moves

  /// The newest task: the download, if the data task has become one.
  private var current: TaskID { tasks[tasks.count - 1] }
  private var question: OpenDecision? { stage.machine.task(current)?.question }

  var moves: [Move] { Move.allCases.filter(isPossible) }

  private func isPossible(_ move: Move) -> Bool {
    switch move {
    case .createdHolds: return isCreating
    case .isRefused: return isCreating && left.contains(move)
    case .endHolds: return !ends.isEmpty
    case .suspends, .resumes, .cancels: return !isCreating && left.contains(move) && !isOver
    case .changesRequest:
      return !isCreating && left.contains(move) && stage.machine.task(current)?.requestChangeRefusal == nil
        && stage.machine.task(current)?.isEnding == false
    case .invalidates, .leaves: return left.contains(move)
    case .arrives: return canArrive
    case .answers, .expires: return question != nil
    case .refuses: return canRefuse
    case .becomesDownload:
      if case .response = question?.kind { return tasks.count == 1 } else { return false }
    case .orderArrives: return !orders.isEmpty
    default: return engineCan(move)
    }
  }

  /// Whether every submitted task has stopped and every effect is committed.
  private var canArrive: Bool {
    left.contains(.arrives) && !left.contains(.leaves) && !isCreating && ends.isEmpty && !isOver
      && orders.isEmpty && stage.machine.isQuiet
  }

  private var canRefuse: Bool {
    switch question?.kind {
    case .challenge, .response, .delayedRequest: true
    default: false
    }
  }

  private func engineCan(_ move: Move) -> Bool {
    guard engine.progress != .absent, engine.progress != .over else { return false }
    if move == .endsCancelled { return engine.isCancelled }
    guard !engine.isSuspended, !engine.isCancelled else { return false }
    if move == .fails { return true }
    guard engine.question == nil else { return false }
    switch move {
    case .begins: return engine.progress == .queued
    case .challenges, .redirects: return engine.progress == .requesting && left.contains(move)
    case .responds: return engine.progress == .requesting
    case .caches: return engine.progress == .answered && !engine.isDownload && engine.asked < 9
    case .succeeds: return engine.progress == .answered
    default: return false
    }
  }

  mutating func make(_ move: Move) throws(Violation) {
    path.append(move)
    left.remove(move)
    let (id, time) = (current, stage.now.wall)
    switch move {
    case .createdHolds:
      isCreating = false
      try give(.created([task]))
      try give(.begin(task))
    case .isRefused:
      isCreating = false
      try give(.refused([task], messages: []))
    case .endHolds:
      let held = ends
      ends = []
      try give(.endsCommitted(held))
    case .suspends: try give(.suspend(id))
    case .resumes: try give(.resume(id))
    case .cancels: try give(.cancel(id, keepsPartial: false))
    case .invalidates: try give(.invalidate)
    case .answers: try answer(id)
    case .refuses: try refuse(id)
    case .becomesDownload: try answer(id, .response(.becomeDownload))
    case .expires: if let decision = question?.decision { try give(.decisionExpired(id, decision)) }
    case .orderArrives: try arrive(orders.removeFirst())
    case .begins:
      engine.progress = .requesting
      try tell(.began(carried, at: time))
    case .challenges: try ask(.challenge(Self.challenge, .taskDidReceiveChallenge))
    case .redirects:
      try ask(.redirect(.ok, proposed: TransferRequest(url: "http://origin.test/b", method: "GET")))
    case .responds:
      engine.progress = .answered
      // A download's response needs no decision.
      if engine.isDownload {
        try tell(.accepted(carried, .ok))
      } else {
        try ask(.response(.ok, BodyReference(nil)))
      }
    case .caches:
      try ask(.caching(.ok, size: 3))
      engine.asked = 9
    case .succeeds: try end(nil)
    case .fails: try end(.timedOut)
    case .endsCancelled: try end(.cancelled)
    case .leaves: try give(.prepareHandover)
    case .changesRequest: try changeRequest()
    case .arrives: try arriveElsewhere()
    }
  }

  private static let challenge = AuthenticationChallenge(
    ProtectionSpace(
      host: "origin.test", port: 80, protocolName: "http", realm: "r", authenticationMethod: .httpBasic))

  /// Continues at another service from the rows.
  private mutating func arriveElsewhere() throws(Violation) {
    let unfinished = tasks.filter { stage.machine.task($0) != nil }
    stage = SessionMachineHarness(after: stage)
    // The new engine does not know the task of the old one.
    engine = Engine()
    engine.isDownload = tasks.count > 1
    for id in unfinished {
      guard let row = stage.rows[id] else { throw violation("a task was never written") }
      try give(.recovered(row))
      if stage.hasBegun(id) { try give(.beginApproved(id)) }
    }
    try give(.recoveredAll)
  }

  private mutating func changeRequest() throws(Violation) {
    var patch = TaskPatch()
    patch.request = RequestChange(url: Self.changed, headers: HTTPHeaders(), credential: nil)
    // A redirect can only follow if it has not happened yet.
    urls = left.contains(.redirects) ? [Self.changed, "http://origin.test/b"] : [Self.changed]
    guard case .task(let task) = try give(.change(current, patch)), task.currentRequest.url == Self.changed
    else { throw violation("a change was refused") }
  }

  private static let changed = "http://origin.test/changed"

  // MARK: Delegate

  private mutating func answer(_ id: TaskID) throws(Violation) {
    switch question?.kind {
    case .redirect(let proposed): try answer(id, .redirect(proposed))
    case .challenge: try answer(id, .challenge(.answer(.useNoCredential)))
    case .response: try answer(id, .response(.allow))
    case .caching: try answer(id, .caching(.allowed, headers: nil))
    case .delayedRequest: try answer(id, .delayed(.continueLoading, nil))
    case .bodyStream, nil: throw violation("unexpected decision about a body")
    }
  }

  private mutating func refuse(_ id: TaskID) throws(Violation) {
    switch question?.kind {
    case .challenge: try answer(id, .challenge(.cancel))
    case .response: try answer(id, .response(.cancel))
    default: try answer(id, .delayed(.cancel, nil))
    }
  }

  private mutating func answer(_ id: TaskID, _ answer: DecisionAnswer) throws(Violation) {
    guard let decision = question?.decision else { throw violation("no decision is pending") }
    guard case .done = try give(.answer(id, decision, answer, shown: [], tag: nil)) else {
      throw violation("an answer in time was refused")
    }
  }

  // MARK: Engine

  /// The task's id in the engine.
  private var carried: TaskID { engine.isDownload ? current : task }

  private mutating func ask(_ question: TransferQuestion) throws(Violation) {
    engine.asked += 1
    engine.question = engine.asked
    try tell(.asked(carried, engine.asked, question, at: stage.now.wall))
  }

  private mutating func end(_ error: URLErrorCode?) throws(Violation) {
    let known = stage.machine.task(carried)?.task ?? stage.rows[carried]
    engine.progress = .over
    guard let known else { throw violation("an engine has an unknown task") }
    try tell(.ended(carried, .end(of: known, at: stage.now.wall, error: error)))
    // A task that stopped for a handover or a changed request may be submitted here again.
    if stage.machine.task(current)?.isEnding == false {
      engine = Engine(isDownload: tasks.count > 1, asked: engine.asked)
    }
  }

  private mutating func tell(_ fact: TransferFact) throws(Violation) { try give(.fact(fact)) }

  private mutating func arrive(_ order: TransferCommand) throws(Violation) {
    if engine.progress == .absent {
      // The engine no longer knows tasks that have ended.
      if case .submit = order { engine.progress = .queued }
      return
    }
    switch order {
    case .submit: throw violation("a task is submitted twice")
    case .command(.suspend, _): engine.isSuspended = true
    case .command(.resume, _): engine.isSuspended = false
    case .command(.cancel, _): engine.isCancelled = true
    case .command(.answer(let answer, let number), _):
      // An answer to another decision has no effect.
      guard number == engine.question else { return }
      engine.question = nil
      if case .becomeDownload = answer { engine.isDownload = true }
    case .command, .releaseSession: break
    }
  }

  // MARK: Invariants

  @discardableResult
  private mutating func give(_ input: SessionInput) throws(Violation) -> InputResult {
    let before = stage.ends
    let reply = stage.give(input, holds: false)
    ends += stage.ends.keys.filter { before[$0] == nil }.sorted()
    let new = stage.takeOrders()
    for case .submit(let task) in new where !urls.contains(task.currentRequest.url) {
      throw violation("an attempt begins with \(task.currentRequest.url)")
    }
    orders += new
    try hear()
    try check()
    return reply
  }

  private mutating func hear() throws(Violation) {
    while heard < stage.events.count {
      let event = stage.events[heard]
      heard += 1
      if case .created(let created) = event.payload, !tasks.contains(created.id) {
        tasks.append(created.id)
        lives.append(
          TaskLifeAutomaton(TaskTraits(of: created, in: stage.machine.session, goesOnForDataTask: true)))
      }
      let word = TaskSymbol(event)
      if let place = tasks.firstIndex(where: { $0 == event.taskID }), let word {
        do throws(TaskLifeAutomaton.Violation) { try lives[place].accept(word) } catch {
          throw violation("\(error)")
        }
      }
      // Events of a task whose creation was refused are not in the journal.
      guard !wasRefused, let told = word.map({ SessionSymbol($0) }) ?? SessionSymbol(event.type) else {
        continue
      }
      do throws(SessionLifeAutomaton.Violation) { try sessionLife.accept(told) } catch {
        throw violation("\(error)")
      }
    }
  }

  private func check() throws(Violation) {
    guard stage.ends.values.allSatisfy({ $0 == 1 }) else { throw violation("a task ended twice") }
    let settled = stage.settlements.map(\.id)
    guard Set(settled).count == settled.count else { throw violation("a decision was settled twice") }
    let open = Set(tasks.compactMap { stage.machine.task($0)?.question?.decision })
    let asked = Set(stage.inquiries.compactMap { $0.event.decision?.id })
    guard asked.subtracting(settled) == open else {
      throw violation("a decision is neither open nor settled")
    }
  }

  /// Takes only the moves that are necessary. Every task must end then.
  func checkThatItEnds() throws(Violation) {
    var world = self
    world.left = world.isSuspended ? [.resumes] : []
    // A service that started a handover completes it. Any other service stays.
    if path.contains(.leaves), left.contains(.arrives) { world.left.insert(.arrives) }
    for _ in 0..<60 {
      let possible = Set(world.moves)
      guard let move = Self.healing.first(where: possible.contains) else { break }
      try world.make(move)
    }
    guard world.isOver, world.stage.machine.unfinishedIDs.isEmpty else {
      throw world.violation("the task never ends")
    }
    guard world.wasRefused || world.lives.allSatisfy(\.isOver) else {
      throw world.violation("a task ended without an event")
    }
  }

  private static let healing: [Move] = [
    .createdHolds, .endHolds, .orderArrives, .resumes, .expires, .endsCancelled, .begins, .responds,
    .succeeds, .arrives,
  ]

  private var wasRefused: Bool { path.contains(.isRefused) }
  private var isSuspended: Bool { stage.machine.task(current)?.task.state == .suspended }

  private func violation(_ what: String) -> Violation { Violation(path: path, what: what) }
}

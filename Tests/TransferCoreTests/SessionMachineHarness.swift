import HTTPFields
import Testing
import TransferModel

@testable import TransferCore

/// A harness for a session's machine, which passes inputs and records the effects.
struct SessionMachineHarness {
  var machine: SessionMachine
  var now = InputContext(wall: Timestamp(seconds: 1_700_000_000), uptime: .now)
  var isCarriedElsewhere: Bool
  private(set) var events: [TransferEvent] = []
  private(set) var rows: [TaskID: TransferTask] = [:]
  private(set) var messages: [WebhookMessage] = []
  private(set) var inquiries: [SessionEffects.NewDecision] = []
  private(set) var settlements: [SessionEffects.DecisionOutcome] = []
  /// Commands for the engine or the worker that were not taken yet.
  private(set) var orders: [TransferCommand] = []
  private(set) var alarms: [SessionEffects.TimerChange] = []
  private(set) var trials: [SessionEffects.TrialChange] = []
  /// Tasks that can be evicted, once each.
  private var evictions: [Eviction] = []
  private(set) var retirement: SessionEffects.SessionCleanup?
  private(set) var ends: [TaskID: Int] = [:]
  /// Bodies from clients that are no longer needed.
  private(set) var droppedUploads: [any BodyToken] = []
  private(set) var unwantedBodies: [BlobKey] = []
  private var placements: [PlacementStep] = []
  private var identifiers = IdentifierGenerator(seed: 7)

  init(
    _ type: SessionType = .default, delegate: SessionDelegate? = nil, limit: Int = 100,
    description: String? = nil, submittedBytes: Int = .max
  ) {
    var generator = IdentifierGenerator(seed: 1)
    let time = Timestamp(seconds: 1_700_000_000)
    let session = TransferSession(
      id: generator.make(at: time), type: type, createdAt: time, description: description,
      configuration: SessionConfiguration(), delegate: delegate,
      identifier: type == .background ? "stage" : nil)
    machine = SessionMachine(session, limit: limit, submittedBytes: submittedBytes)
    isCarriedElsewhere = type == .background
  }

  /// Continues from the rows as another service.
  init(after old: SessionMachineHarness, submittedBytes: Int = .max) {
    self = old
    machine = SessionMachine(
      old.machine.session, lastIdentifier: old.machine.lastIdentifier, limit: 100,
      submittedBytes: submittedBytes)
    orders = []
    alarms = []
    trials = []
    evictions = []
    placements = []
  }

  /// Passes an input, and records its effects.
  /// - Parameter holds: whether the commit succeeds before the next input.
  @discardableResult
  mutating func give(_ input: SessionInput, holds: Bool = true) -> InputResult {
    now.wall = now.wall.adding(seconds: 0.001)
    var effects = SessionEffects(
      session: machine.session.id, isCarriedElsewhere: isCarriedElsewhere, identifiers: identifiers)
    let reply = machine.handle(input, at: now, into: &effects)
    identifiers = effects.identifiers
    events += effects.events
    for task in effects.created + effects.updated + effects.respecified { rows[task.id] = task }
    messages += effects.messages
    inquiries += effects.newDecisions
    settlements += effects.decisionOutcomes
    orders += isCarriedElsewhere ? effects.workerCommands : effects.engineCommands
    alarms += effects.timers
    trials += effects.trials
    evictions += effects.evictions
    droppedUploads += effects.droppedUploads
    unwantedBodies += effects.unwantedBodies
    placements += effects.placements + effects.renames
    retirement = effects.retirement ?? retirement
    for id in effects.ended { ends[id, default: 0] += 1 }
    if holds, !effects.ended.isEmpty { give(.endsCommitted(effects.ended)) }
    return reply
  }

  /// Creates a running task.
  mutating func create(
    _ kind: TaskKind = .data, method: String = "GET", isRunning: Bool = true,
    _ change: (inout TaskSpecification) -> Void = { _ in }
  ) -> TaskID {
    var specification = TaskSpecification(
      kind: kind, request: TransferRequest(url: "http://origin.test/a", method: method))
    specification.resume = isRunning
    change(&specification)
    let id: TaskID = identifiers.make(at: now.wall)
    guard case .created = give(.create([NewTask(id: id, specification)])) else {
      Issue.record("the session refused a task")
      return id
    }
    give(.created([id]))
    give(.begin(id))
    return id
  }

  /// Evicts all tasks that can be evicted, as after their commits.
  mutating func evict() { give(.evict(takeEvictions())) }

  /// Returns the tasks that became evictable since the last call.
  mutating func takeEvictions() -> [Eviction] {
    defer { evictions = [] }
    return evictions
  }

  /// Reads an evicted task from its row.
  mutating func load(_ id: TaskID) { if machine.tasks.isEvicted(id), let row = rows[id] { give(.load(row)) } }

  mutating func fact(_ fact: TransferFact) { give(.fact(fact)) }

  /// Returns the commands since the last call.
  mutating func takeOrders() -> [TransferCommand] {
    defer { orders = [] }
    return orders
  }

  /// Returns the steps with files of destinations since the last call.
  mutating func takePlacements() -> [PlacementStep] {
    defer { placements = [] }
    return placements
  }

  /// Returns the timer changes since the last call.
  mutating func takeAlarms() -> [SessionEffects.TimerChange] {
    defer { alarms = [] }
    return alarms
  }

  func types(of task: TaskID) -> [EventType] { events.filter { $0.taskID == task }.map(\.type) }

  /// Returns whether the task's delegate has allowed its start.
  func hasBegun(_ task: TaskID) -> Bool {
    let settled = settlements.filter { $0.state == .answered || $0.state == .expired }.map(\.id)
    return inquiries.contains { inquiry in
      inquiry.event.type == .taskWillBeginDelayedRequest && inquiry.event.taskID == task
        && inquiry.event.decision.map { settled.contains($0.id) } ?? false
    }
  }

  var lastDecision: DecisionID? { inquiries.last?.event.decision?.id }
}

extension TransferOutcome {
  static func end(of task: TransferTask, at time: Timestamp, error: URLErrorCode? = nil) -> TransferOutcome {
    var outcome = TransferOutcome(
      error: error.map { TransferError($0, "") }, currentRequest: task.currentRequest,
      response: error == nil ? .ok : task.response,
      progress: task.progress, transactions: [], endedAt: time)
    if error == nil {
      outcome.body = .memory([1, 2, 3])
      outcome.size = 3
    }
    return outcome
  }
}

extension TransferResponse {
  static let ok = TransferResponse(
    url: "http://origin.test/a", status: 200, headers: HTTPHeaders(), expectedContentLength: 3,
    httpVersion: "HTTP/1.1")
}

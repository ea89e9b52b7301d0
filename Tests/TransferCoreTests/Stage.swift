import HTTPFields
import Testing
import TransferModel

@testable import TransferCore

/// A session's machine on a stage of its own: gives it inputs, and keeps what its turns come to.
struct Stage {
  var machine: SessionMachine
  var now = Now(wall: Timestamp(seconds: 1_700_000_000), uptime: .now)
  var isCarriedElsewhere: Bool
  private(set) var events: [TransferEvent] = []
  private(set) var rows: [TaskID: TransferTask] = [:]
  private(set) var messages: [Message] = []
  private(set) var inquiries: [Turn.Inquiry] = []
  private(set) var settlements: [Turn.Settlement] = []
  /// Orders to whoever carries tasks out, here or elsewhere, that were not taken yet.
  private(set) var orders: [Order] = []
  private(set) var alarms: [Turn.Alarm] = []
  /// Tasks that can be evicted, once each.
  private var evictions: [Eviction] = []
  private(set) var retirement: Turn.Retirement?
  private(set) var ends: [TaskID: Int] = [:]
  /// Bodies that clients send and nobody wants.
  private(set) var droppedUploads: [any BodyToken] = []
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

  /// Goes on from what is on the disk, as another process.
  init(after old: Stage, submittedBytes: Int = .max) {
    self = old
    machine = SessionMachine(
      old.machine.session, lastIdentifier: old.machine.lastIdentifier, limit: 100,
      submittedBytes: submittedBytes)
    orders = []
    alarms = []
    evictions = []
  }

  /// Gives an input, and carries its turn out.
  /// - Parameter holds: whether the commit is there before the next input.
  @discardableResult
  mutating func give(_ input: Input, holds: Bool = true) -> Reply {
    now.wall = now.wall.adding(seconds: 0.001)
    var turn = Turn(
      session: machine.session.id, isCarriedElsewhere: isCarriedElsewhere, identifiers: identifiers)
    let reply = machine.handle(input, at: now, into: &turn)
    identifiers = turn.identifiers
    events += turn.events
    for task in turn.created + turn.updated + turn.respecified { rows[task.id] = task }
    messages += turn.messages
    inquiries += turn.inquiries
    settlements += turn.settlements
    orders += isCarriedElsewhere ? turn.commands : turn.orders
    alarms += turn.alarms
    evictions += turn.evictions
    droppedUploads += turn.droppedUploads
    retirement = turn.retirement ?? retirement
    for id in turn.ended { ends[id, default: 0] += 1 }
    if holds, !turn.ended.isEmpty { give(.endHolds(turn.ended)) }
    return reply
  }

  /// Creates a task that runs.
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
      Issue.record("the session takes no task")
      return id
    }
    give(.created([id]))
    give(.begin(id))
    return id
  }

  /// Evicts what can be: the commits hold.
  mutating func evict() { give(.evict(takeEvictions())) }

  /// The tasks that can be evicted since this was last asked.
  mutating func takeEvictions() -> [Eviction] {
    defer { evictions = [] }
    return evictions
  }

  /// Reads an evicted task from its row.
  mutating func load(_ id: TaskID) { if machine.tasks.isEvicted(id), let row = rows[id] { give(.load(row)) } }

  mutating func fact(_ fact: TransferFact) { give(.fact(fact)) }

  /// What has been ordered since it was last asked.
  mutating func takeOrders() -> [Order] {
    defer { orders = [] }
    return orders
  }

  /// The alarms that were set since this was last asked.
  mutating func takeAlarms() -> [Turn.Alarm] {
    defer { alarms = [] }
    return alarms
  }

  func types(of task: TaskID) -> [EventType] { events.filter { $0.taskID == task }.map(\.type) }

  /// Whether its delegate has let it begin.
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

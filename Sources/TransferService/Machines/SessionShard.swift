internal import EventLoop
internal import Synchronization
internal import TransferCore
internal import TransferModel

/// Some of the sessions' machines, under one lock, and the steps that they have come to. The lock is held while a machine decides, and
/// never across a disk, a socket or a wait.
final class SessionShard: Sendable {
  private struct State {
    var machines: [SessionID: SessionMachine] = [:]
    var identifiers: IdentifierGenerator
    /// What clients want of tasks whose rows are being written.
    var parked: [TaskID: [Visit]] = [:]
    /// To be carried out, in order.
    var outbox = SerialDrain<Step>()
  }
  private let state: Mutex<State>
  private let directory: TaskDirectory
  private let clock: @Sendable (TransferSession) -> Now
  /// Whether another process carries out the tasks of a session.
  private let isElsewhere: @Sendable (TransferSession) -> Bool

  init(
    seed: UInt64, directory: TaskDirectory, clock: @escaping @Sendable (TransferSession) -> Now,
    isElsewhere: @escaping @Sendable (TransferSession) -> Bool
  ) {
    state = Mutex(State(identifiers: IdentifierGenerator(seed: seed)))
    self.directory = directory
    self.clock = clock
    self.isElsewhere = isElsewhere
  }

  // MARK: Sessions

  /// Adds a session, unless it is there.
  func insert(_ machine: SessionMachine) {
    state.withLock { state in
      if state.machines[machine.session.id] == nil { state.machines[machine.session.id] = machine }
    }
  }

  func remove(_ id: SessionID) { state.withLock { _ = $0.machines.removeValue(forKey: id) } }

  /// Looks at a session; nil where there is none.
  func look<Result: Sendable>(_ id: SessionID, _ body: (borrowing SessionMachine) -> Result) -> Result? {
    state.withLock { state in
      guard let index = state.machines.index(forKey: id) else { return nil }
      return Self.look(&state.machines.values[index], body)
    }
  }

  /// As inout, since whoever reads a value of a dictionary gets a copy of all that it has.
  private static func look<Result>(
    _ machine: inout SessionMachine, _ body: (borrowing SessionMachine) -> Result
  ) -> Result {
    body(machine)
  }

  func sessions() -> [TransferSession] { state.withLock { $0.machines.values.map(\.session) } }

  // MARK: Visits

  /// Lets somebody do something to a session. nil where there is no such session.
  /// - Returns: what it came to, and whether the caller has to carry the steps out.
  func visit<Result: Sendable>(
    _ id: SessionID, _ body: (inout SessionMachine, inout Step) -> Result
  ) -> (result: Result, mustCarryOut: Bool)? {
    state.withLock { state in
      take(id, &state, body).map { ($0, queue(&state)) }
    }
  }

  /// The result of a visit to a task.
  enum TaskVisit {
    /// There is no such session.
    case missing
    /// It waits until the task's row is written or read.
    case parked
    /// The caller has to read the task's row.
    case firstParked
    /// Whether the caller has to carry the steps out.
    case taken(Bool)
  }

  /// As above, for a task of the session: as soon as its row is written, and before it begins; and after it was read if the task is
  /// evicted.
  func visit(_ task: TaskID, in id: SessionID, _ visit: @escaping Visit) -> TaskVisit {
    state.withLock { state in
      let (isCreating, isEvicted) = needs(task, in: id, &state)
      guard !isCreating, !isEvicted else {
        state.parked[task, default: []].append(visit)
        return isEvicted && state.parked[task]?.count == 1 ? .firstParked : .parked
      }
      return take(id, &state, visit).map { .taken(queue(&state)) } ?? .missing
    }
  }

  /// The result of loading a task.
  enum Loading: Equatable {
    /// There is no such session.
    case missing
    /// The session is an outline: the caller has to read its row.
    case needsSession
    case ended(mustCarryOut: Bool)
  }

  /// Loads an evicted task and lets in the visits that waited for it. If `row` is nil, they find the task evicted.
  /// - Parameter whole: the session from its row, if that was read.
  func endLoading(
    of task: TaskID, as row: TransferTask?, in id: SessionID, whole: TransferSession?
  ) -> Loading {
    let (loading, turnedAway): (Loading, [Visit]) = state.withLock { state in
      if row != nil, whole == nil, isOutline(id, &state) { return (.needsSession, []) }
      let parked = state.parked.removeValue(forKey: task) ?? []
      let taken: Void? = take(id, &state) { machine, step in
        if let whole { machine.take(.restore(whole), &step) }
        if let row { machine.take(.load(row), &step) }
        for visit in parked { visit(&machine, &step) }
      }
      guard taken != nil else { return (.missing, parked) }
      return (.ended(mustCarryOut: queue(&state)), [])
    }
    turnAway(turnedAway)
    return loading
  }

  private func isOutline(_ id: SessionID, _ state: inout State) -> Bool {
    guard let index = state.machines.index(forKey: id) else { return false }
    return Self.look(&state.machines.values[index], \.session.isOutline)
  }

  /// Ends visits that waited for a task whose session went to another process. They find no such task.
  private func turnAway(_ visits: [Visit]) {
    guard !visits.isEmpty else { return }
    var machine = SessionMachine(.shared(.shared, of: .default), limit: 0)
    var step = step(for: &machine, IdentifierGenerator(seed: 0))
    for visit in visits { visit(&machine, &step) }
    for action in step.settled { action(false) }
  }

  /// Tasks have been created, or not. Whoever waited for that is let in, and what is to run begins.
  /// - Parameter refused: the messages that they would have sent; nil: they are.
  func endCreation(of tasks: [TaskID], in id: SessionID, refused: [DeliveryID]?) -> Bool? {
    let (mustCarryOut, turnedAway): (Bool?, [Visit]) = state.withLock { state in
      let parked = state.parked.isEmpty ? [] : tasks.flatMap { state.parked.removeValue(forKey: $0) ?? [] }
      let taken: Void? = take(id, &state) { machine, step in
        if let refused {
          machine.take(.refused(tasks, messages: refused), &step)
        } else {
          machine.take(.created(tasks), &step)
        }
        for visit in parked { visit(&machine, &step) }
        if refused == nil { for task in tasks { machine.take(.begin(task), &step) } }
      }
      return (taken.map { queue(&state) }, taken == nil ? parked : [])
    }
    turnAway(turnedAway)
    return mustCarryOut
  }

  /// Whether a task's row is yet to be written, or to be read.
  private func needs(
    _ task: TaskID, in id: SessionID, _ state: inout State
  ) -> (isCreating: Bool, isEvicted: Bool) {
    guard let index = state.machines.index(forKey: id) else { return (false, false) }
    return Self.look(&state.machines.values[index]) {
      ($0.task(task)?.isCreating ?? false, $0.tasks.isEvicted(task))
    }
  }

  /// Visits a session; what that comes to is the outbox's last step, where it has grown: a step is too large to be passed around.
  private func take<Result: Sendable>(
    _ id: SessionID, _ state: inout State, _ body: (inout SessionMachine, inout Step) -> Result
  ) -> Result? {
    guard let index = state.machines.index(forKey: id) else { return nil }
    let place = state.outbox.elements.count
    state.outbox.elements.append(step(for: &state.machines.values[index], state.identifiers))
    let result = body(&state.machines.values[index], &state.outbox.elements[place])
    if state.outbox.elements[place].session.isOutline {
      state.outbox.elements[place].session = state.machines.values[index].session
    }
    state.machines.values[index].rest()
    settle(&state.outbox.elements[place], &state.identifiers)
    return result
  }

  private func step(for machine: inout SessionMachine, _ identifiers: IdentifierGenerator) -> Step {
    let session = machine.session
    return Step(
      turn: Turn(session: session.id, isCarriedElsewhere: isElsewhere(session), identifiers: identifiers),
      now: clock(session), session: session)
  }

  private func settle(_ step: inout Step, _ identifiers: inout IdentifierGenerator) {
    identifiers = step.turn.identifiers
    if let changed = step.turn.sessionRow { step.session = changed }
    for task in step.turn.created { directory[task.id] = step.turn.session }
    for task in step.turn.forgotten { directory[task] = nil }
  }

  /// Leaves the last step to be carried out, unless there is nothing in it.
  /// - Returns: whether nobody is carrying the steps out: then the caller has to.
  private func queue(_ state: inout State) -> Bool {
    guard !Self.isEmpty(&state.outbox.elements[state.outbox.elements.count - 1]) else {
      state.outbox.elements.removeLast()
      return false
    }
    return state.outbox.claim()
  }

  private static func isEmpty(_ step: inout Step) -> Bool { step.isEmpty }

  /// Carries the steps out, one after the other, until there are no more. For whoever was told to.
  func carryOut(_ body: (Step) -> Void) {
    while true {
      let steps = state.withLock { $0.outbox.take() }
      if steps.isEmpty { return }
      for index in steps.indices { body(steps[index]) }
    }
  }

  /// Whether nothing waits: for a row to be written, or to be carried out.
  var isIdle: Bool { state.withLock { $0.parked.isEmpty && $0.outbox.elements.isEmpty } }

  /// Whether somebody waits for a task's row.
  func hasParked(_ task: TaskID) -> Bool { state.withLock { $0.parked[task] != nil } }
}

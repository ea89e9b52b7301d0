internal import EventLoop
internal import Synchronization
internal import TransferCore
internal import TransferModel

/// A part of the sessions' machines under one lock, with the queue of their transitions. The lock is held while a machine decides, and
/// never during a disk access, a socket call or a wait.
final class SessionStripe: Sendable {
  private struct State {
    var machines: [SessionID: SessionMachine] = [:]
    var identifiers: IdentifierGenerator
    /// Updates that wait until their task's row is written or read.
    var parked: [TaskID: [SessionUpdate]] = [:]
    /// Transitions to be carried out, in order.
    var outbox = SerialDrain<SessionTransition>()
  }
  private let state: Mutex<State>
  private let directory: TaskSessionIndex
  private let clock: @Sendable (TransferSession) -> InputContext
  /// Whether the worker runs a session's tasks.
  private let isElsewhere: @Sendable (TransferSession) -> Bool

  init(
    seed: UInt64, directory: TaskSessionIndex, clock: @escaping @Sendable (TransferSession) -> InputContext,
    isElsewhere: @escaping @Sendable (TransferSession) -> Bool
  ) {
    state = Mutex(State(identifiers: IdentifierGenerator(seed: seed)))
    self.directory = directory
    self.clock = clock
    self.isElsewhere = isElsewhere
  }

  // MARK: Sessions

  /// Adds a session, unless a session with its id exists.
  func insert(_ machine: SessionMachine) {
    state.withLock { state in
      if state.machines[machine.session.id] == nil { state.machines[machine.session.id] = machine }
    }
  }

  func remove(_ id: SessionID) { state.withLock { _ = $0.machines.removeValue(forKey: id) } }

  /// Reads a session. Returns `nil` if there is no such session.
  func read<Result: Sendable>(_ id: SessionID, _ body: (borrowing SessionMachine) -> Result) -> Result? {
    state.withLock { state in
      guard let index = state.machines.index(forKey: id) else { return nil }
      return Self.read(&state.machines.values[index], body)
    }
  }

  /// `inout`, because reading a value of a dictionary would copy it.
  private static func read<Result>(
    _ machine: inout SessionMachine, _ body: (borrowing SessionMachine) -> Result
  ) -> Result {
    body(machine)
  }

  func sessions() -> [TransferSession] { state.withLock { $0.machines.values.map(\.session) } }

  // MARK: Updates

  /// Changes a session. Returns `nil` if there is no such session.
  /// - Returns: the result of `body`, and whether the caller must carry out the queued transitions.
  func visit<Result: Sendable>(
    _ id: SessionID, _ body: (inout SessionMachine, inout SessionTransition) -> Result
  ) -> (result: Result, mustCarryOut: Bool)? {
    state.withLock { state in
      applyUpdate(id, &state, body).map { ($0, queue(&state)) }
    }
  }

  /// The result of an update to a task.
  enum TaskUpdateResult {
    /// There is no such session.
    case missing
    /// The update waits until the task's row is written or read.
    case parked
    /// The update waits, and the caller must read the task's row.
    case mustReadRow
    /// The update was made. The value says whether the caller must carry out the queued transitions.
    case taken(Bool)
  }

  /// Changes a task's session once the task's row is written, before the task begins. If the task is evicted, the update waits
  /// until the task was read.
  func visit(_ task: TaskID, in id: SessionID, _ visit: @escaping SessionUpdate) -> TaskUpdateResult {
    state.withLock { state in
      let (isCreating, isEvicted) = needs(task, in: id, &state)
      guard !isCreating, !isEvicted else {
        state.parked[task, default: []].append(visit)
        return isEvicted && state.parked[task]?.count == 1 ? .mustReadRow : .parked
      }
      return applyUpdate(id, &state, visit).map { .taken(queue(&state)) } ?? .missing
    }
  }

  /// The result of loading a task.
  enum Loading: Equatable {
    /// There is no such session.
    case missing
    /// The session is an outline. The caller must read its row.
    case needsSession
    case ended(mustCarryOut: Bool)
  }

  /// Restores an evicted task and makes the updates that waited for it. If `row` is `nil`, they find the task evicted.
  /// - Parameter whole: the session from its row, if the caller read it.
  func endLoading(
    of task: TaskID, as row: TransferTask?, in id: SessionID, whole: TransferSession?
  ) -> Loading {
    let (loading, turnedAway): (Loading, [SessionUpdate]) = state.withLock { state in
      if row != nil, whole == nil, isOutline(id, &state) { return (.needsSession, []) }
      let parked = state.parked.removeValue(forKey: task) ?? []
      let taken: Void? = applyUpdate(id, &state) { machine, step in
        if let whole { machine.apply(.restore(whole), &step) }
        if let row { machine.apply(.load(row), &step) }
        for visit in parked { visit(&machine, &step) }
      }
      guard taken != nil else { return (.missing, parked) }
      return (.ended(mustCarryOut: queue(&state)), [])
    }
    rejectUpdates(turnedAway)
    return loading
  }

  private func isOutline(_ id: SessionID, _ state: inout State) -> Bool {
    guard let index = state.machines.index(forKey: id) else { return false }
    return Self.read(&state.machines.values[index], \.session.isOutline)
  }

  /// Ends updates that waited for a task of a session that is no longer here. They find no such task.
  private func rejectUpdates(_ visits: [SessionUpdate]) {
    guard !visits.isEmpty else { return }
    var machine = SessionMachine(.shared(.shared, of: .default), limit: 0)
    var step = step(for: &machine, IdentifierGenerator(seed: 0))
    for visit in visits { visit(&machine, &step) }
    for action in step.onCommit { action(false) }
  }

  /// Notes that a creation was committed or refused. Makes the updates that waited for it, then begins the tasks.
  /// - Parameter refused: the messages of the refused tasks, or `nil` if the tasks are committed.
  func endCreation(of tasks: [TaskID], in id: SessionID, refused: [DeliveryID]?) -> Bool? {
    let (mustCarryOut, turnedAway): (Bool?, [SessionUpdate]) = state.withLock { state in
      let parked = state.parked.isEmpty ? [] : tasks.flatMap { state.parked.removeValue(forKey: $0) ?? [] }
      let taken: Void? = applyUpdate(id, &state) { machine, step in
        if let refused {
          machine.apply(.refused(tasks, messages: refused), &step)
        } else {
          machine.apply(.created(tasks), &step)
        }
        for visit in parked { visit(&machine, &step) }
        if refused == nil { for task in tasks { machine.apply(.begin(task), &step) } }
      }
      return (taken.map { queue(&state) }, taken == nil ? parked : [])
    }
    rejectUpdates(turnedAway)
    return mustCarryOut
  }

  /// Whether a task's row must be written or read before an update.
  private func needs(
    _ task: TaskID, in id: SessionID, _ state: inout State
  ) -> (isCreating: Bool, isEvicted: Bool) {
    guard let index = state.machines.index(forKey: id) else { return (false, false) }
    return Self.read(&state.machines.values[index]) {
      ($0.task(task)?.isCreating ?? false, $0.tasks.isEvicted(task))
    }
  }

  /// Changes a session and appends the transition to the outbox. The transition is not returned, because it is too large to copy.
  private func applyUpdate<Result: Sendable>(
    _ id: SessionID, _ state: inout State, _ body: (inout SessionMachine, inout SessionTransition) -> Result
  ) -> Result? {
    guard let index = state.machines.index(forKey: id) else { return nil }
    let place = state.outbox.elements.count
    state.outbox.elements.append(step(for: &state.machines.values[index], state.identifiers))
    let result = body(&state.machines.values[index], &state.outbox.elements[place])
    if state.outbox.elements[place].session.isOutline {
      state.outbox.elements[place].session = state.machines.values[index].session
    }
    state.machines.values[index].reduceToOutline()
    settle(&state.outbox.elements[place], &state.identifiers)
    return result
  }

  private func step(for machine: inout SessionMachine, _ identifiers: IdentifierGenerator)
    -> SessionTransition
  {
    let session = machine.session
    return SessionTransition(
      effects: SessionEffects(
        session: session.id, isCarriedElsewhere: isElsewhere(session), identifiers: identifiers),
      now: clock(session), session: session)
  }

  private func settle(_ step: inout SessionTransition, _ identifiers: inout IdentifierGenerator) {
    identifiers = step.effects.identifiers
    if let changed = step.effects.sessionRow { step.session = changed }
    for task in step.effects.created { directory[task.id] = step.effects.session }
    for task in step.effects.forgotten { directory[task] = nil }
  }

  /// Keeps the last transition in the queue, unless it is empty.
  /// - Returns: whether no thread is carrying out the transitions, so the caller must do so.
  private func queue(_ state: inout State) -> Bool {
    guard !Self.isEmpty(&state.outbox.elements[state.outbox.elements.count - 1]) else {
      state.outbox.elements.removeLast()
      return false
    }
    return state.outbox.beginDraining()
  }

  private static func isEmpty(_ step: inout SessionTransition) -> Bool { step.isEmpty }

  /// Carries out the transitions one after another until the queue is empty. Call it only if `visit` or `queue` requested it.
  func carryOut(_ body: (SessionTransition) -> Void) {
    while true {
      let steps = state.withLock { $0.outbox.dequeueAll() }
      if steps.isEmpty { return }
      for index in steps.indices { body(steps[index]) }
    }
  }

  /// Whether no update waits for a row and no transition is queued.
  var isIdle: Bool { state.withLock { $0.parked.isEmpty && $0.outbox.elements.isEmpty } }

  /// Whether an update waits for a task's row.
  func hasParked(_ task: TaskID) -> Bool { state.withLock { $0.parked[task] != nil } }
}

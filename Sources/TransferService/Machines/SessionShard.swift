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
    var outbox: [Step] = []
    var isCarryingOut = false
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
      return body(state.machines.values[index])
    }
  }

  func sessions() -> [TransferSession] { state.withLock { $0.machines.values.map(\.session) } }

  // MARK: Visits

  /// Lets somebody do something to a session. nil where there is no such session.
  /// - Returns: what it came to, and whether the caller has to carry the steps out.
  func visit<Result: Sendable>(
    _ id: SessionID, _ body: (inout SessionMachine, inout Step) -> Result
  ) -> (result: Result, mustCarryOut: Bool)? {
    state.withLock { state in
      guard let (result, step) = take(id, &state, body) else { return nil }
      return (result, queue(step, &state))
    }
  }

  /// As above; but what it comes to is for the caller, and for nobody else to carry out.
  func visitAside<Result: Sendable>(
    _ id: SessionID, _ body: (inout SessionMachine, inout Step) -> Result
  ) -> (result: Result, step: Step)? {
    state.withLock { take(id, &$0, body) }
  }

  /// As above, for a task of the session: as soon as its row is written, and before it begins.
  func visit(_ task: TaskID, in id: SessionID, _ visit: @escaping Visit) -> Bool? {
    state.withLock { state in
      guard state.machines[id]?.task(task)?.isCreating != true else {
        state.parked[task, default: []].append(visit)
        return false
      }
      return take(id, &state, visit).map { queue($0.step, &state) }
    }
  }

  /// Tasks have been created, or not. Whoever waited for that is let in, and what is to run begins.
  /// - Parameter refused: how many were not, and the messages that they would have sent; nil: they are.
  func endCreation(
    of tasks: [TaskID], in id: SessionID, refused: (count: Int, messages: [DeliveryID])?
  ) -> Bool? {
    state.withLock { state in
      let parked = state.parked.isEmpty ? [] : tasks.flatMap { state.parked.removeValue(forKey: $0) ?? [] }
      let taken = take(id, &state) { machine, step in
        if let refused {
          machine.take(.refused(count: refused.count, tasks, messages: refused.messages), &step)
        } else {
          machine.take(.created(tasks), &step)
        }
        for visit in parked { visit(&machine, &step) }
        if refused == nil { for task in tasks { machine.take(.begin(task), &step) } }
      }
      return taken.map { queue($0.step, &state) }
    }
  }

  private func take<Result: Sendable>(
    _ id: SessionID, _ state: inout State, _ body: (inout SessionMachine, inout Step) -> Result
  ) -> (result: Result, step: Step)? {
    guard let index = state.machines.index(forKey: id) else { return nil }
    let session = state.machines.values[index].session
    var step = Step(
      turn: Turn(session: id, isCarriedElsewhere: isElsewhere(session), identifiers: state.identifiers),
      now: clock(session), session: session)
    let result = body(&state.machines.values[index], &step)
    state.identifiers = step.turn.identifiers
    if let changed = step.turn.sessionRow { step.session = changed }
    for task in step.turn.created { directory[task.id] = id }
    for task in step.turn.forgotten { directory[task] = nil }
    return (result, step)
  }

  /// - Returns: whether nobody is carrying the steps out: then the caller has to.
  private func queue(_ step: Step, _ state: inout State) -> Bool {
    guard !step.isEmpty else { return false }
    state.outbox.append(step)
    defer { state.isCarryingOut = true }
    return !state.isCarryingOut
  }

  /// Carries the steps out, one after the other, until there are no more. For whoever was told to.
  func carryOut(_ body: (Step) -> Void) {
    while true {
      let steps = state.withLock { state in
        let steps = state.outbox
        state.outbox.removeAll(keepingCapacity: true)
        if steps.isEmpty { state.isCarryingOut = false }
        return steps
      }
      if steps.isEmpty { return }
      for step in steps { body(step) }
    }
  }

  /// Whether nothing waits: for a row to be written, or to be carried out.
  var isIdle: Bool { state.withLock { $0.parked.isEmpty && $0.outbox.isEmpty } }

  /// Whether somebody waits for a task's row.
  func hasParked(_ task: TaskID) -> Bool { state.withLock { $0.parked[task] != nil } }
}

package import TransferModel

/// All that the process decides that carries background tasks out: when attempts begin, and what follows them. A plain value.
package struct WorkerMachine: Sendable {
  /// From its begin on, an attempt that lives so long is not what others died of.
  package static let proof = Duration.seconds(2)
  /// The same from its way to the engine on, and for a task under which many workers have crashed.
  package static let longestProof = Duration.seconds(10)

  package internal(set) var attempts = AttemptTable()
  /// The background sessions. Large ones are outlines; their attempts keep the whole session.
  package private(set) var sessions: [SessionID: TransferSession] = [:]
  var suspects = CrashGuard()
  var discretion: DiscretionMachine
  /// What an earlier process left is known, and what was asked for meanwhile.
  private(set) var hasStarted = false
  /// An earlier process died by its own fault: that a task is under way is on the disk before it is, or a death by it would not be
  /// counted.
  private(set) var isCareful = false
  package private(set) var isDraining = false

  package init(discretion: DiscretionaryPolicy) {
    self.discretion = DiscretionMachine(policy: discretion)
  }

  /// True where the engine has nothing.
  package var isIdle: Bool { discretion.active.isEmpty }
  /// True where the engine has nothing, and nothing yields to others.
  package var isQuiet: Bool { isIdle && discretion.isQuiet }

  package mutating func handle(_ input: WorkerInput, at now: Now, into turn: inout WorkerTurn) {
    #if DEBUG
      if let injector = Flaw.injector { return injector.handle(input, at: now, into: &turn, by: &self) }
    #endif
    decide(input, at: now, into: &turn)
  }

  mutating func decide(_ input: WorkerInput, at now: Now, into turn: inout WorkerTurn) {
    switch input {
    case .submit(let task, let row): submit(task, in: row, at: now, into: &turn)
    case .command(let command, let id): take(command, of: id, at: now, into: &turn)
    case .forget(let session): sessions[session] = nil
    case .aside(let number): turn.orders.append(.aside(number))
    case .fact(let fact): take(fact, at: now, into: &turn)
    case .due(let id): admit(id, at: now, into: &turn)
    case .survived(let id, let attempt): survived(id, attempt, at: now, into: &turn)
    case .written(let id, let attempt): written(id, attempt, at: now, into: &turn)
    case .review: review(at: now, into: &turn)
    case .wasCrash: isCareful = true
    case .session(let session): sessions[session.id] = session.isLarge ? session.outline : session
    case .orphaned(let id): turn.finish(id)
    case .recovered(let task, let row, let state, let hasCrashed):
      recover(task, in: row, state, hasCrashed, at: now, into: &turn)
    case .started:
      hasStarted = true
      startSuspects(at: now, into: &turn)
    case .drain: drain(into: &turn)
    }
  }

  /// The task is over: this is the last that is heard of it.
  mutating func end(_ id: TaskID, _ outcome: TransferOutcome, into turn: inout WorkerTurn) {
    let attempt = attempts.remove(id)
    if attempt?.task.earliestBeginDate != nil { turn.alarms.append(.cancelBegin(id)) }
    discretion.end(id)
    suspects.ended(id)
    turn.facts.append(.ended(id, outcome))
    turn.finish(id)
  }

  private mutating func drain(into turn: inout WorkerTurn) {
    isDraining = true
    // Those that have not begun first: none begins because another was stopped.
    let active = discretion.active.compactMap { attempts[$0] }.sorted { left, right in
      let (leftBegan, rightBegan) = (left.state.startedAt != nil, right.state.startedAt != nil)
      return leftBegan == rightBegan ? left.id > right.id : rightBegan
    }
    for attempt in active { turn.order(.cancel(keepsPartial: true), of: attempt) }
  }
}

package import TransferModel

/// The state machine of the worker: it decides when attempts begin and what follows them. A plain value.
package struct WorkerMachine: Sendable {
  /// An attempt that runs for this long after its start is cleared of suspicion.
  package static let crashWindow = Duration.seconds(2)
  /// The same, counted from submission, and for a task during which many workers crashed.
  package static let longestCrashWindow = Duration.seconds(10)

  package internal(set) var attempts = AttemptTable()
  /// The background sessions. Large ones are outlines; their attempts keep the whole session.
  package private(set) var sessions: [SessionID: TransferSession] = [:]
  var suspects = CrashGuard()
  var discretion: DiscretionMachine
  /// Whether the rows and pending commands of earlier workers were read.
  private(set) var hasStarted = false
  /// Whether an earlier worker crashed. The start of each attempt is then written before its submission, so that the next crash is counted.
  private(set) var isCareful = false
  package private(set) var isDraining = false

  package init(discretion: DiscretionaryPolicy) {
    self.discretion = DiscretionMachine(policy: discretion)
  }

  /// Whether the engine has no task.
  package var isIdle: Bool { discretion.active.isEmpty }
  /// Whether the engine has no task, and no discretionary task waits for others.
  package var isQuiet: Bool { isIdle && discretion.isQuiet }

  package mutating func handle(_ input: WorkerInput, at now: InputContext, into effects: inout WorkerEffects)
  {
    #if DEBUG
      if let injector = InjectedFault.injector {
        return injector.handle(input, at: now, into: &effects, by: &self)
      }
    #endif
    decide(input, at: now, into: &effects)
  }

  mutating func decide(_ input: WorkerInput, at now: InputContext, into effects: inout WorkerEffects) {
    switch input {
    case .submit(let task, let row): submit(task, in: row, at: now, into: &effects)
    case .command(let command, let id): handle(command, of: id, at: now, into: &effects)
    case .releaseSession(let session): sessions[session] = nil
    case .sessionCommand(let number): effects.engineCommands.append(.sessionCommand(number))
    case .fact(let fact): handle(fact, at: now, into: &effects)
    case .retryDue(let id): admit(id, at: now, into: &effects)
    case .crashWindowPassed(let id, let attempt): survived(id, attempt, at: now, into: &effects)
    case .attemptCommitted(let id, let attempt): written(id, attempt, at: now, into: &effects)
    case .review: review(at: now, into: &effects)
    case .wasCrash: isCareful = true
    case .session(let session): sessions[session.id] = session.isLarge ? session.outline : session
    case .orphaned(let id): effects.finish(id)
    case .recovered(let task, let row, let state, let hasCrashed):
      recover(task, in: row, state, hasCrashed, at: now, into: &effects)
    case .started:
      hasStarted = true
      startSuspects(at: now, into: &effects)
    case .drain: drain(into: &effects)
    }
  }

  /// Ends a task and removes it from the machine.
  mutating func end(_ id: TaskID, _ outcome: TransferOutcome, into effects: inout WorkerEffects) {
    let attempt = attempts.remove(id)
    if attempt?.task.earliestBeginDate != nil { effects.timers.append(.cancelBegin(id)) }
    discretion.end(id)
    suspects.ended(id)
    effects.facts.append(.ended(id, outcome))
    effects.finish(id)
  }

  private mutating func drain(into effects: inout WorkerEffects) {
    isDraining = true
    // Attempts that have not begun are stopped first, so that none begins because another was stopped.
    let active = discretion.active.compactMap { attempts[$0] }.sorted { left, right in
      let (leftBegan, rightBegan) = (left.state.startedAt != nil, right.state.startedAt != nil)
      return leftBegan == rightBegan ? left.id > right.id : rightBegan
    }
    for attempt in active { effects.order(.cancel(keepsPartial: true), of: attempt) }
  }
}

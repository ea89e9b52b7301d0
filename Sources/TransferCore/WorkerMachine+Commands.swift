internal import TransferModel

/// The commands of the service.
extension WorkerMachine {
  mutating func submit(
    _ task: TransferTask, in row: TransferSession?, at now: InputContext, into effects: inout WorkerEffects
  ) {
    guard attempts[task.id] == nil, task.state != .completed,
      let session = sessions[task.sessionID].flatMap({ attempts.whole($0, row) })
    else {
      return
    }
    let attempt = AttemptMachine(task, session: session)
    attempts.insert(attempt)
    effects.keep(attempt)
    admit(task.id, at: now, into: &effects)
  }

  mutating func handle(
    _ command: TaskCommand, of id: TaskID, at now: InputContext, into effects: inout WorkerEffects
  ) {
    switch command {
    case .suspend: suspend(id, at: now, into: &effects)
    case .resume: resume(id, at: now, into: &effects)
    case .cancel(let keepsPartial):
      cancel(id, keepsPartial ? .keepingPartial : .droppingPartial, at: now, into: &effects)
    case .answer(let answer, let question): handle(answer, to: question, of: id, into: &effects)
    case .retryNow:
      attempts.change(id) { $0.retryNow() }
      if let attempt = attempts[id] { effects.keep(attempt) }
      admit(id, at: now, into: &effects)
    case .setPriority(let priority):
      attempts.change(id) {
        $0.task.priority = priority
        effects.order(command, of: $0)
      }
    case .setLimit(let limit):
      attempts.change(id) {
        $0.task.maximumBytesPerSecond = limit
        effects.order(command, of: $0)
      }
    case .changeRequest(let change): changeRequest(change, of: id, into: &effects)
    case .setBeginDate(let date):
      attempts.change(id) { $0.task.earliestBeginDate = date }
      admit(id, at: now, into: &effects)
    }
  }

  private mutating func suspend(_ id: TaskID, at now: InputContext, into effects: inout WorkerEffects) {
    guard var attempt = attempts[id], !attempt.state.isSuspended else { return }
    attempt.state.isSuspended = true
    attempt.state.suspendedAt = now.wall
    attempts.insert(attempt)
    effects.keep(attempt)
    guard attempt.isActive else { return }
    effects.order(.suspend, of: attempt)
    // Discretionary tasks do not wait for a suspended one.
    if discretion.suspend(id) { review(at: now, into: &effects) }
  }

  private mutating func resume(_ id: TaskID, at now: InputContext, into effects: inout WorkerEffects) {
    guard var attempt = attempts[id], attempt.state.isSuspended else { return }
    attempt.state.resume(at: now.wall)
    attempts.insert(attempt)
    effects.keep(attempt)
    if attempt.isActive { goOn(attempt, into: &effects) } else { admit(id, at: now, into: &effects) }
  }

  private mutating func cancel(
    _ id: TaskID, _ cancellation: WorkState.Cancellation, at now: InputContext,
    into effects: inout WorkerEffects
  ) {
    guard var attempt = attempts[id], attempt.state.cancellation == nil else { return }
    attempt.state.cancellation = cancellation
    attempts.insert(attempt)
    guard attempt.isActive else { return endCancelled(attempt, at: now, into: &effects) }
    effects.keep(attempt)
    effects.order(.cancel(keepsPartial: cancellation == .keepingPartial), of: attempt)
  }

  /// Ends a task that was cancelled between two attempts.
  mutating func endCancelled(
    _ attempt: AttemptMachine, at now: InputContext, into effects: inout WorkerEffects
  ) {
    let outcome = attempt.cancelled(at: now.wall)
    let keeps = attempt.state.cancellation == .keepingPartial
    if !keeps, let point = attempt.state.partial?.download, point.source == attempt.id {
      effects.engineCommands.append(.remove(point.key))
    }
    end(attempt.id, outcome, into: &effects)
  }

  /// Passes an answer to the transfer, and keeps it for later attempts. An answer to an earlier challenge is dropped.
  private mutating func handle(
    _ answer: TransferAnswer, to question: Int, of id: TaskID, into effects: inout WorkerEffects
  ) {
    let kept: ChallengeAnswer
    switch answer {
    case .challenge(let answer): kept = answer
    case .byDefault: kept = .performDefaultHandling
    default: return assertionFailure("challenges are the only decisions of background sessions")
    }
    guard var attempt = attempts[id], attempt.keepAnswer(kept, to: question) else { return }
    attempts.insert(attempt)
    effects.keep(attempt)
    effects.order(.answer(answer, question: attempt.state.decisionCount), of: attempt)
  }
}

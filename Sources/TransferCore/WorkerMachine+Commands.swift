internal import TransferModel

/// What the service asks for.
extension WorkerMachine {
  mutating func submit(
    _ task: TransferTask, in row: TransferSession?, at now: Now, into turn: inout WorkerTurn
  ) {
    guard attempts[task.id] == nil, task.state != .completed,
      let session = sessions[task.sessionID].flatMap({ attempts.whole($0, row) })
    else {
      return
    }
    let attempt = AttemptMachine(task, session: session)
    attempts.insert(attempt)
    turn.keep(attempt)
    admit(task.id, at: now, into: &turn)
  }

  mutating func take(_ command: TaskCommand, of id: TaskID, at now: Now, into turn: inout WorkerTurn) {
    switch command {
    case .suspend: suspend(id, at: now, into: &turn)
    case .resume: resume(id, at: now, into: &turn)
    case .cancel(let keepsPartial):
      cancel(id, keepsPartial ? .keepingPartial : .droppingPartial, at: now, into: &turn)
    case .answer(let answer, let question): take(answer, to: question, of: id, into: &turn)
    case .setPriority(let priority):
      attempts.change(id) {
        $0.task.priority = priority
        turn.order(command, of: $0)
      }
    case .setLimit(let limit):
      attempts.change(id) {
        $0.task.maximumBytesPerSecond = limit
        turn.order(command, of: $0)
      }
    case .setBeginDate(let date):
      attempts.change(id) { $0.task.earliestBeginDate = date }
      admit(id, at: now, into: &turn)
    }
  }

  private mutating func suspend(_ id: TaskID, at now: Now, into turn: inout WorkerTurn) {
    guard var attempt = attempts[id], !attempt.state.isSuspended else { return }
    attempt.state.isSuspended = true
    attempt.state.suspendedAt = now.wall
    attempts.insert(attempt)
    turn.keep(attempt)
    guard attempt.isActive else { return }
    turn.order(.suspend, of: attempt)
    // Nobody waits for one that does nothing.
    if discretion.suspend(id) { review(at: now, into: &turn) }
  }

  private mutating func resume(_ id: TaskID, at now: Now, into turn: inout WorkerTurn) {
    guard var attempt = attempts[id], attempt.state.isSuspended else { return }
    attempt.state.resume(at: now.wall)
    attempts.insert(attempt)
    turn.keep(attempt)
    if attempt.isActive { goOn(attempt, into: &turn) } else { admit(id, at: now, into: &turn) }
  }

  private mutating func cancel(
    _ id: TaskID, _ cancellation: WorkState.Cancellation, at now: Now, into turn: inout WorkerTurn
  ) {
    guard var attempt = attempts[id], attempt.state.cancellation == nil else { return }
    attempt.state.cancellation = cancellation
    attempts.insert(attempt)
    guard attempt.isActive else { return endCancelled(attempt, at: now, into: &turn) }
    turn.keep(attempt)
    turn.order(.cancel(keepsPartial: cancellation == .keepingPartial), of: attempt)
  }

  /// The end of a task that was cancelled while nobody carried it out.
  mutating func endCancelled(_ attempt: AttemptMachine, at now: Now, into turn: inout WorkerTurn) {
    let outcome = attempt.cancelled(at: now.wall)
    let keeps = attempt.state.cancellation == .keepingPartial
    if !keeps, let point = attempt.state.partial?.download, point.source == attempt.id {
      turn.orders.append(.remove(point.key))
    }
    end(attempt.id, outcome, into: &turn)
  }

  /// Gives an answer to the transfer, and keeps it for the next attempt. An answer to an earlier question is dropped.
  private mutating func take(
    _ answer: TransferAnswer, to question: Int, of id: TaskID, into turn: inout WorkerTurn
  ) {
    let kept: ChallengeAnswer
    switch answer {
    case .challenge(let answer): kept = answer
    case .byDefault: kept = .performDefaultHandling
    default: return assertionFailure("tasks of background sessions only ask about challenges")
    }
    guard var attempt = attempts[id], attempt.take(kept, to: question) else { return }
    attempts.insert(attempt)
    turn.keep(attempt)
    turn.order(.answer(answer, question: attempt.state.questions), of: attempt)
  }
}

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

  mutating func suspend(_ id: TaskID, at now: Now, into turn: inout WorkerTurn) {
    guard var attempt = attempts[id], !attempt.state.isSuspended else { return }
    attempt.state.isSuspended = true
    attempt.state.suspendedAt = now.wall
    attempts.insert(attempt)
    turn.keep(attempt)
    guard attempt.isActive else { return }
    turn.orders.append(.suspend(id, attempt.session.id))
    // Nobody waits for one that does nothing.
    if discretion.suspend(id) { review(at: now, into: &turn) }
  }

  mutating func resume(_ id: TaskID, at now: Now, into turn: inout WorkerTurn) {
    guard var attempt = attempts[id], attempt.state.isSuspended else { return }
    attempt.state.resume(at: now.wall)
    attempts.insert(attempt)
    turn.keep(attempt)
    if attempt.isActive { goOn(attempt, into: &turn) } else { admit(id, at: now, into: &turn) }
  }

  mutating func cancel(
    _ id: TaskID, _ cancellation: WorkState.Cancellation, at now: Now, into turn: inout WorkerTurn
  ) {
    guard var attempt = attempts[id], attempt.state.cancellation == nil else { return }
    attempt.state.cancellation = cancellation
    attempts.insert(attempt)
    guard attempt.isActive else { return endCancelled(attempt, at: now, into: &turn) }
    turn.keep(attempt)
    turn.orders.append(.cancel(id, attempt.session.id, keepsPartial: cancellation == .keepingPartial))
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

  /// Hands an answer to whoever asked, and keeps it for the next attempt. What crosses another question is for nobody.
  mutating func take(
    _ answer: TransferAnswer, keeping kept: ChallengeAnswer, to question: Int, of id: TaskID,
    into turn: inout WorkerTurn
  ) {
    guard var attempt = attempts[id], attempt.take(kept, to: question) else { return }
    attempts.insert(attempt)
    turn.keep(attempt)
    turn.orders.append(.answer(id, attempt.session.id, to: attempt.state.questions, answer))
  }
}

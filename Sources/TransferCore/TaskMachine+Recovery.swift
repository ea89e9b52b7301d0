internal import TransferModel

/// Recovery of a task that an earlier service left.
extension TaskMachine {
  /// Continues or ends a task that no process runs.
  mutating func recover(
    _ session: borrowing TransferSession, at now: InputContext, into effects: inout SessionEffects
  ) {
    switch task.state {
    case .running where task.placement != nil: startRecovered(session, at: now, into: &effects)
    case .running where executionState.goesOn:
      // The earlier service stopped the task so that this one can continue it. Clients receive no event about the change.
      startRecovered(session, at: now, into: &effects)
    case .running where task.waitsForDate(at: now):
      // The task has lost nothing: it still waits for its begin date.
      startRecovered(session, at: now, into: &effects)
    case .running where recoverAttempt(session, at: now, into: &effects): break
    case .running:
      var outcome = task.outcome(
        .networkConnectionLost, "the service stopped while the task was running", at: now.wall)
      outcome.partial = task.partial ?? outcome.partial
      outcome.error?.resumeDataAvailable = outcome.partial != nil
      end(outcome, session, at: now, into: &effects)
    case .canceling:
      end(task.outcome(.cancelled, "cancelled", at: now.wall), session, at: now, into: &effects)
    case .suspended, .completed: break
    }
  }

  /// Restores a decision that can still be answered.
  mutating func recover(_ question: OpenDecision, seconds: Double, into effects: inout SessionEffects) {
    // In any other state, recovery already knows whether the worker has the task.
    guard executionState == .unconfirmed else { return }
    self.question = question
    if question.isAboutBeginning { task.firstAttempt.announce() }
    task.activity = .waitingForDecision
    effects.timers.append(.decision(question.decision, of: id, afterSeconds: seconds))
  }

  /// Starts a recovered task, at once or later. Recovery has renamed the file with its first bytes, so its row needs the new name.
  mutating func startRecovered(
    _ session: borrowing TransferSession, at now: InputContext, into effects: inout SessionEffects
  ) {
    if task.partial != nil { effects.update(task) }
    startIfReady(session, at: now, into: &effects)
  }

  /// Records that the worker has the task. If the service crashed between two commits, a command may be missing although its cause was
  /// written. Such commands are repeated. The worker ignores those that it knows.
  mutating func foundAtWorker(
    _ elsewhere: ReceivedCommands, _ session: borrowing TransferSession, at now: InputContext,
    into effects: inout SessionEffects
  ) {
    guard executionState == .unconfirmed else { return }
    executionState = .executing
    switch task.state {
    case .canceling where !elsewhere.isCancelled: effects.send(.cancel(keepsPartial: false), of: id)
    case .suspended where !elsewhere.isSuspended: effects.send(.suspend, of: id)
    case .running where elsewhere.isSuspended: effects.send(.resume, of: id)
    default: break
    }
  }

  /// Records that the worker does not have the task and has reported no end, so the task was created but not submitted.
  /// - Parameter butPerhaps: Whether the worker may still have the task, because that is not known.
  mutating func missingAtWorker(
    butPerhaps: Bool, _ session: borrowing TransferSession, at now: InputContext,
    into effects: inout SessionEffects
  ) {
    guard executionState == .unconfirmed else { return }
    guard !butPerhaps else {
      executionState = .executing
      return
    }
    if question?.isAboutBeginning != true { settle(.withdrawn, session, at: now.wall, into: &effects) }
    executionState = .idle(goesOn: false)
    switch task.state {
    case .running: startIfReady(session, at: now, into: &effects)
    case .canceling:
      end(task.outcome(.cancelled, "cancelled", at: now.wall), session, at: now, into: &effects)
    case .suspended, .completed: break
    }
  }
}

internal import TransferModel

/// How a task goes on that an earlier process left.
extension TaskMachine {
  /// Nobody has the task any more.
  mutating func recover(
    _ session: borrowing TransferSession, at now: Now, into turn: inout Turn
  ) {
    switch task.state {
    case .running where place.goesOn:
      // It has stopped for this process to go on, and its clients were told nothing of that.
      launch(session, at: now, into: &turn)
    case .running where task.waitsForDate(at: now):
      // Nothing of it is lost: it waits for its date, as it did.
      launch(session, at: now, into: &turn)
    case .running:
      var outcome = task.outcome(
        .networkConnectionLost, "the service stopped while the task was running", at: now.wall)
      outcome.partial = task.partial ?? outcome.partial
      outcome.error?.resumeDataAvailable = outcome.partial != nil
      end(outcome, session, at: now, into: &turn)
    case .canceling: end(task.outcome(.cancelled, "cancelled", at: now.wall), session, at: now, into: &turn)
    case .suspended, .completed: break
    }
  }

  /// The question can still be answered.
  mutating func recover(_ question: Question, seconds: Double, into turn: inout Turn) {
    // Else it is clear already who has the task.
    guard place == .uncertain else { return }
    self.question = question
    if question.isAboutBeginning { task.beginning.announce() }
    task.activity = .waitingForDecision
    turn.alarms.append(.decision(question.decision, of: id, afterSeconds: seconds))
  }

  /// The other process has the task. An order whose cause was written and itself was not, as the process died in between, is given
  /// again: each changes nothing where it is known.
  mutating func isThere(
    _ elsewhere: Elsewhere, _ session: borrowing TransferSession, at now: Now, into turn: inout Turn
  ) {
    guard place == .uncertain else { return }
    place = .carried
    switch task.state {
    case .canceling where !elsewhere.isCancelled: turn.order(.cancel(keepsPartial: false), of: id)
    case .suspended where !elsewhere.isSuspended: turn.order(.suspend, of: id)
    case .running where elsewhere.isSuspended: turn.order(.resume, of: id)
    default: break
    }
  }

  /// The other process has not the task, and has told no end of it: it was created, and not handed over.
  /// - Parameter butPerhaps: nobody can say that.
  mutating func isNowhere(
    butPerhaps: Bool, _ session: borrowing TransferSession, at now: Now, into turn: inout Turn
  ) {
    guard place == .uncertain else { return }
    guard !butPerhaps else {
      place = .carried
      return
    }
    if question?.isAboutBeginning != true { settle(.withdrawn, session, at: now.wall, into: &turn) }
    place = .idle(goesOn: false)
    switch task.state {
    case .running: launch(session, at: now, into: &turn)
    case .canceling: end(task.outcome(.cancelled, "cancelled", at: now.wall), session, at: now, into: &turn)
    case .suspended, .completed: break
    }
  }
}

package import TransferModel

/// How a session goes on from what an earlier process left.
extension SessionMachine {
  /// Messages that an earlier process left in the outbox.
  package mutating func recover(_ pending: [(id: DeliveryID, isWakeUp: Bool)]) {
    for message in pending {
      if message.isWakeUp { _ = handover?.queue(wakeUp: message.id) }
      handover?.queue(message.id)
    }
  }

  mutating func recover(_ input: Input, at now: Now, into turn: inout Turn) {
    switch input {
    case .recovered(let task): recover(task, at: now, into: &turn)
    case .hadBegun(let id): change(id) { machine, _ in machine.hadBegun() }
    case .waits(let id, let decision, let number, let kind, let seconds):
      guard let kind, tasks[id]?.isEnding == false else {
        return turn.settlements.append(.init(id: decision, task: id, state: .withdrawn))
      }
      let question = Question(decision: decision, number: number, kind: kind)
      change(id) { machine, _ in machine.recover(question, seconds: seconds, into: &turn) }
    case .isElsewhere(let id, let elsewhere):
      change(id) { machine, session in machine.isThere(elsewhere, session, at: now, into: &turn) }
    case .allElsewhereKnown(let except):
      for id in tasks.ids {
        change(id) { machine, session in
          machine.isNowhere(butPerhaps: except.contains(id), session, at: now, into: &turn)
        }
      }
    case .recoveredAll:
      endIfDone(at: now, into: &turn)
      finishEvents(at: now, into: &turn)
    default: assertionFailure("no input of a recovery")
    }
  }

  private mutating func recover(_ task: TransferTask, at now: Now, into turn: inout Turn) {
    unfinished += 1
    let hasBegun = task.mayHaveBegun
    tasks.insert(
      TaskMachine(
        task, at: turn.isCarriedElsewhere ? .uncertain(nil, hasBegun: hasBegun) : .idle(hasBegun: hasBegun)))
    let isCarriedElsewhere = turn.isCarriedElsewhere
    change(task.id) { machine, session in
      if isCarriedElsewhere {
        machine.takeUp()
      } else {
        machine.recover(session, at: now, into: &turn)
      }
    }
  }
}

extension TaskMachine {
  /// Another process may have the task. Until that is found out it is taken for one that was handed over, since that must not happen
  /// twice.
  fileprivate mutating func takeUp() {
    guard task.state == .running else { return }
    // As it was told last; what has changed since then is told by news.
    task.phase = task.phase ?? (task.startedAt == nil ? .queued : .transferring)
  }

  /// Nobody has the task any more.
  fileprivate mutating func recover(
    _ session: borrowing TransferSession, at now: Now, into turn: inout Turn
  ) {
    switch task.state {
    case .running where waitsForDate(at: now):
      // Nothing of it is lost: it waits for its date, as it did.
      task.phase = .queued
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

  /// Its date has not come, as far as anybody was told: a clock that was set back does not take back that its delegate was asked.
  private func waitsForDate(at now: Now) -> Bool {
    guard !task.mayHaveBegun, task.phase != .waitingForDecision, let date = task.earliestBeginDate else {
      return false
    }
    return date > now.wall
  }

  fileprivate mutating func hadBegun() {
    switch place {
    case .idle: place = .idle(hasBegun: true)
    case .uncertain(let question, _): place = .uncertain(question, hasBegun: true)
    case .creating, .asksToBegin, .carried, .waitsToRetry, .ending: break
    }
  }

  /// The question can still be answered.
  fileprivate mutating func recover(_ question: Question, seconds: Double, into turn: inout Turn) {
    guard case .uncertain(_, let hasBegun) = place else { return }
    var isDelayed = hasBegun
    if case .delayedRequest = question.kind { isDelayed = true }
    place = .uncertain(question, hasBegun: isDelayed)
    if task.state == .running { task.phase = .waitingForDecision }
    turn.alarms.append(.decision(question.decision, of: id, afterSeconds: seconds))
  }

  /// The other process has the task. An order whose cause was written and itself was not, as the process died in between, is given
  /// again: each changes nothing where it is known.
  fileprivate mutating func isThere(
    _ elsewhere: Elsewhere, _ session: borrowing TransferSession, at now: Now, into turn: inout Turn
  ) {
    guard case .uncertain(let question, _) = place else { return }
    place = question == nil && elsewhere.phase == .waitingToRetry ? .waitsToRetry : .carried(question)
    switch task.state {
    case .canceling where !elsewhere.isCancelled: turn.order(.cancel(id, keepsPartial: false))
    case .suspended where !elsewhere.isSuspended: turn.order(.suspend(id))
    case .running where elsewhere.isSuspended: turn.order(.resume(id))
    default: break
    }
  }

  /// The other process has not the task, and has told no end of it: it was created, and not handed over.
  /// - Parameter butPerhaps: nobody can say that.
  fileprivate mutating func isNowhere(
    butPerhaps: Bool, _ session: borrowing TransferSession, at now: Now, into turn: inout Turn
  ) {
    guard case .uncertain(let question, let hasBegun) = place else { return }
    guard !butPerhaps else {
      place = .carried(question)
      return
    }
    if let question, case .delayedRequest = question.kind {
      place = .asksToBegin(question)
    } else {
      settle(.withdrawn, session, at: now.wall, into: &turn)
      place = .idle(hasBegun: hasBegun)
    }
    switch task.state {
    case .running: launch(session, at: now, into: &turn)
    case .canceling: end(task.outcome(.cancelled, "cancelled", at: now.wall), session, at: now, into: &turn)
    case .suspended, .completed: break
    }
  }
}

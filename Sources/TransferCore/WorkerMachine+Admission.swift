internal import TransferModel

/// The start of attempts.
extension WorkerMachine {
  /// Starts an attempt of a task, if the task is ready.
  /// - Parameter isTried: Whether the task is a suspect on trial.
  mutating func admit(
    _ id: TaskID, isTried: Bool = false, at now: InputContext, into effects: inout WorkerEffects
  ) {
    guard !isDraining, var attempt = attempts[id], !attempt.isActive else { return }
    guard !attempt.state.isSuspended else { return suspects.endTrial(id) }
    guard isTried || !suspects.isSuspect(id) else {
      suspects.isDue(id)
      return startSuspects(at: now, into: &effects)
    }
    if attempt.beginDateHasCome(at: now) {
      effects.keep(attempt)
      effects.facts.append(.beganDelayed(id, at: now.wall))
    }
    if let alarm = attempt.nextAlarm(at: now) {
      effects.timers.append(alarm)
      attempts.insert(attempt)
      return suspects.endTrial(id)
    }
    if let outcome = attempt.outcomeInTime(at: now.wall) { return end(id, outcome, into: &effects) }
    if attempt.isDiscretionary {
      guard discretion.mayRun(at: now) else {
        attempts.insert(attempt)
        discretion.yield(id)
        return suspects.endTrial(id)
      }
    } else {
      hold(into: &effects)
    }
    begin(attempt, at: now, into: &effects)
  }

  private mutating func begin(
    _ ready: AttemptMachine, at now: InputContext, into effects: inout WorkerEffects
  ) {
    var attempt = ready
    attempt.begin()
    attempts.insert(attempt)
    discretion.begin(attempt.id, isDiscretionary: attempt.isDiscretionary)
    effects.keep(attempt)
    if isCareful || attempt.needsCommitBeforeSend {
      effects.written.append((attempt.id, attempt.state.attempts))
    } else {
      submit(attempt, at: now, into: &effects)
    }
  }

  private func submit(_ attempt: AttemptMachine, at now: InputContext, into effects: inout WorkerEffects) {
    effects.engineCommands.append(.submit(attempt.submission(at: now.wall)))
    // A suspect whose attempt does not begin must end its trial, too.
    if attempt.state.isOnProbation {
      effects.startCrashWindow(attempt, for: Self.longestCrashWindow, at: now)
    }
  }

  /// Submits an attempt whose start is now on disk, and repeats the commands that arrived in between.
  mutating func written(_ id: TaskID, _ number: Int, at now: InputContext, into effects: inout WorkerEffects)
  {
    // Before its submission, an attempt has the changed request already.
    attempts.change(id) { if $0.state.attempts == number { ($0.replacement, $0.isStopping) = (nil, false) } }
    guard let attempt = attempts[id], attempt.isActive, attempt.state.attempts == number else { return }
    submit(attempt, at: now, into: &effects)
    if let cancellation = attempt.state.cancellation {
      effects.order(.cancel(keepsPartial: cancellation == .keepingPartial), of: attempt)
    } else if isDraining {
      effects.order(.cancel(keepsPartial: true), of: attempt)
    } else if attempt.state.isSuspended || discretion.yields(id) {
      effects.order(.suspend, of: attempt)
    }
  }

  // MARK: Suspects

  mutating func survived(_ id: TaskID, _ number: Int, at now: InputContext, into effects: inout WorkerEffects)
  {
    guard var attempt = attempts[id], attempt.isActive, attempt.state.attempts == number else { return }
    attempt.state.deaths = 0
    if attempt.state.crashesOften { attempt.state.crashes = 0 }
    attempts.insert(attempt)
    effects.keep(attempt)
    suspects.progressed(id)
    startSuspects(at: now, into: &effects)
  }

  /// Starts the tasks that may start after a crash, and ends those that were running during too many crashes.
  mutating func startSuspects(at now: InputContext, into effects: inout WorkerEffects) {
    guard hasStarted else { return }
    var actions = suspects.next()
    while !actions.isEmpty {
      for action in actions {
        switch action {
        case .start(let id): admit(id, isTried: true, at: now, into: &effects)
        case .fail(let id, let deaths):
          if let outcome = attempts[id]?.crashLimitOutcome(deaths, at: now.wall) {
            end(id, outcome, into: &effects)
          }
        }
      }
      // A suspect that cannot begin now makes room for the next.
      actions = suspects.next()
    }
  }

  // MARK: Discretion

  private mutating func hold(into effects: inout WorkerEffects) {
    for id in discretion.hold() {
      guard var attempt = attempts[id] else { continue }
      switch attempt.yielding {
      case .suspended: effects.order(.suspend, of: attempt)
      case .stopped:
        attempt.isStopping = true
        attempts.insert(attempt)
        effects.order(.cancel(keepsPartial: true), of: attempt)
      case .never: discretion.stopHolding(id)
      }
    }
  }

  /// Checks again whether discretionary tasks may run, because other tasks have ended or the time has come.
  mutating func review(at now: InputContext, into effects: inout WorkerEffects) {
    guard !discretion.isQuiet else { return }
    guard discretion.mayRun(at: now) else { return hold(into: &effects) }
    for id in discretion.release() {
      guard let attempt = attempts[id] else { continue }
      guard attempt.isActive else {
        admit(id, at: now, into: &effects)
        continue
      }
      // Another attempt follows when the engine has stopped this one.
      guard !attempt.isStopping else { continue }
      discretion.markRunning(id)
      if !attempt.state.isSuspended { effects.order(.resume, of: attempt) }
    }
  }

  /// Resumes an active attempt. If its task is not discretionary, the discretionary ones are held.
  mutating func goOn(_ attempt: AttemptMachine, into effects: inout WorkerEffects) {
    guard !discretion.yields(attempt.id) else { return }
    if !attempt.isDiscretionary {
      discretion.resume(attempt.id)
      hold(into: &effects)
    }
    effects.order(.resume, of: attempt)
  }
}

internal import TransferModel

/// When attempts begin.
extension WorkerMachine {
  /// Begins an attempt of a task that is ready for one.
  /// - Parameter isTried: it may have been what others died of, and its turn has come.
  mutating func admit(_ id: TaskID, isTried: Bool = false, at now: Now, into turn: inout WorkerTurn) {
    guard !isDraining, var attempt = attempts[id], !attempt.isActive else { return }
    guard !attempt.state.isSuspended else { return suspects.waits(id) }
    guard isTried || !suspects.isSuspect(id) else {
      suspects.isDue(id)
      return startSuspects(at: now, into: &turn)
    }
    if attempt.beginDateHasCome(at: now) {
      turn.keep(attempt)
      turn.facts.append(.beganDelayed(id, at: now.wall))
    }
    if let alarm = attempt.nextAlarm(at: now) {
      turn.alarms.append(alarm)
      attempts.insert(attempt)
      return suspects.waits(id)
    }
    if let outcome = attempt.outcomeInTime(at: now.wall) { return end(id, outcome, into: &turn) }
    if attempt.isDiscretionary {
      guard discretion.mayRun(at: now) else {
        attempts.insert(attempt)
        discretion.yield(id)
        return suspects.waits(id)
      }
    } else {
      hold(into: &turn)
    }
    begin(attempt, at: now, into: &turn)
  }

  private mutating func begin(_ ready: AttemptMachine, at now: Now, into turn: inout WorkerTurn) {
    var attempt = ready
    attempt.begin()
    attempts.insert(attempt)
    discretion.begin(attempt.id, isDiscretionary: attempt.isDiscretionary)
    turn.keep(attempt)
    if isCareful || attempt.mustBeWrittenFirst {
      turn.written.append((attempt.id, attempt.state.attempts))
    } else {
      submit(attempt, at: now, into: &turn)
    }
  }

  private func submit(_ attempt: AttemptMachine, at now: Now, into turn: inout WorkerTurn) {
    turn.orders.append(.submit(attempt.submission(at: now.wall)))
    // One that does not come to begin leaves its turn to the next suspect too.
    if attempt.state.mustProveItself { turn.watch(attempt, for: Self.longestProof, at: now) }
  }

  /// That the attempt has begun is on the disk. What it was told meanwhile is told to the engine now.
  mutating func written(_ id: TaskID, _ number: Int, at now: Now, into turn: inout WorkerTurn) {
    guard let attempt = attempts[id], attempt.isActive, attempt.state.attempts == number else { return }
    submit(attempt, at: now, into: &turn)
    if let cancellation = attempt.state.cancellation {
      turn.order(.cancel(keepsPartial: cancellation == .keepingPartial), of: attempt)
    } else if isDraining {
      turn.order(.cancel(keepsPartial: true), of: attempt)
    } else if attempt.state.isSuspended || discretion.yields(id) {
      turn.order(.suspend, of: attempt)
    }
  }

  // MARK: Suspects

  mutating func survived(_ id: TaskID, _ number: Int, at now: Now, into turn: inout WorkerTurn) {
    guard var attempt = attempts[id], attempt.isActive, attempt.state.attempts == number else { return }
    attempt.state.deaths = 0
    if attempt.state.crashesOften { attempt.state.crashes = 0 }
    attempts.insert(attempt)
    turn.keep(attempt)
    suspects.progressed(id)
    startSuspects(at: now, into: &turn)
  }

  /// Starts what may be started after a death, and ends what has been deadly too often.
  mutating func startSuspects(at now: Now, into turn: inout WorkerTurn) {
    guard hasStarted else { return }
    var actions = suspects.next()
    while !actions.isEmpty {
      for action in actions {
        switch action {
        case .start(let id): admit(id, isTried: true, at: now, into: &turn)
        case .fail(let id, let deaths):
          if let outcome = attempts[id]?.deadly(deaths, at: now.wall) { end(id, outcome, into: &turn) }
        }
      }
      // One that cannot begin now leaves its turn to the next.
      actions = suspects.next()
    }
  }

  // MARK: Discretion

  private mutating func hold(into turn: inout WorkerTurn) {
    for id in discretion.hold() {
      guard var attempt = attempts[id] else { continue }
      switch attempt.yielding {
      case .suspended: turn.order(.suspend, of: attempt)
      case .stopped:
        attempt.isStopping = true
        attempts.insert(attempt)
        turn.order(.cancel(keepsPartial: true), of: attempt)
      case .never: discretion.finish(id)
      }
    }
  }

  /// Looks again whether discretionary tasks may run: others have ended, or it is time.
  mutating func review(at now: Now, into turn: inout WorkerTurn) {
    guard !discretion.isQuiet else { return }
    guard discretion.mayRun(at: now) else { return hold(into: &turn) }
    for id in discretion.release() {
      guard let attempt = attempts[id] else { continue }
      guard attempt.isActive else {
        admit(id, at: now, into: &turn)
        continue
      }
      // Another attempt follows when the engine has given this one up.
      guard !attempt.isStopping else { continue }
      discretion.run(id)
      if !attempt.state.isSuspended { turn.order(.resume, of: attempt) }
    }
  }

  /// One that is not discretionary goes on: the others are held.
  mutating func goOn(_ attempt: AttemptMachine, into turn: inout WorkerTurn) {
    guard !discretion.yields(attempt.id) else { return }
    if !attempt.isDiscretionary {
      discretion.resume(attempt.id)
      hold(into: &turn)
    }
    turn.order(.resume, of: attempt)
  }
}

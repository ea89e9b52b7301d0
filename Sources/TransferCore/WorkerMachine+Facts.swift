internal import TransferModel

/// The facts that the engine reports, and the end of attempts.
extension WorkerMachine {
  mutating func handle(_ fact: TransferFact, at now: InputContext, into effects: inout WorkerEffects) {
    guard attempts[fact.task]?.replacement == nil || fact.countsAfterRequestChange else { return }
    switch fact {
    case .progress:
      // Old progress is not reported later.
      if now.isServiceReachable { effects.facts.append(fact) }
    case .keptPartial(let id, let point):
      attempts.change(id) {
        $0.state.partial = $0.replacement?.isMoved == true ? point.moved : point
        effects.keep($0)
      }
    case .response(let id, let response, _, let time)
    where attempts[id]?.mayRetry(status: response.status) == true:
      attempts.change(id) { $0.heldResponse = .response(id, response, BodyReference(nil), at: time) }
    case .asked(let id, let number, .challenge(let challenge, _), _):
      var known: ChallengeAnswer?
      attempts.change(id) { attempt in
        known = attempt.knownAnswer(to: challenge, number: number)
        if known == nil { effects.keep(attempt) }
      }
      if let known, let attempt = attempts[id] {
        effects.order(.answer(.challenge(known), question: number), of: attempt)
      } else {
        effects.facts.append(fact)
      }
    case .ended(let id, let outcome): attemptEnded(id, outcome, at: now, into: &effects)
    case .began(let id, let time):
      began(id, at: time, now, into: &effects)
      effects.facts.append(fact)
    // Background tasks request no other decisions, and store nothing in a cache. A download's response is reported with its end.
    case .asked, .willCache, .accepted: break
    case .willRetry, .beganDelayed, .attemptReplaced:
      assertionFailure("only this machine reports these facts")
    case .response(let id, _, _, _):
      attempts.change(id) { $0.hasResponded = true }
      effects.facts.append(fact)
    case .redirected, .notified, .waitsForConnectivity, .resumed, .authenticated:
      effects.facts.append(fact)
    }
    startSuspects(at: now, into: &effects)
    if case .ended = fact { review(at: now, into: &effects) }
  }

  /// Records the start of an attempt. timeoutIntervalForResource counts from the first time that the task leaves the queue.
  private mutating func began(
    _ id: TaskID, at time: Timestamp, _ now: InputContext, into effects: inout WorkerEffects
  ) {
    guard var attempt = attempts[id] else { return }
    if attempt.state.isOnProbation { effects.startCrashWindow(attempt, for: Self.crashWindow, at: now) }
    attempt.isInFlight = true
    attempts.insert(attempt)
    if discretion.yields(id), !attempt.isStopping {
      // The request went out before the engine suspended it, so the transfer uses a connection and no longer yields.
      discretion.stopHolding(id)
      if !attempt.state.isSuspended { effects.order(.resume, of: attempt) }
    }
    guard attempt.state.startedAt == nil else { return }
    attempt.state.startedAt = time
    attempts.insert(attempt)
    effects.keep(attempt)
  }

  private mutating func attemptEnded(
    _ id: TaskID, _ outcome: TransferOutcome, at now: InputContext, into effects: inout WorkerEffects
  ) {
    guard var attempt = attempts[id] else { return }
    attempt.state.isActive = false
    // The attempt ended without a crash, so it is cleared of suspicion.
    suspects.progressed(id)
    discretion.end(id)
    if let replacement = attempt.replacement, attempt.state.cancellation == nil {
      return restart(attempt, after: outcome, replacement, at: now, into: &effects)
    }
    if isDraining, attempt.state.cancellation == nil, outcome.error != nil {
      return leave(attempt, outcome, at: now, into: &effects)
    }
    if attempt.isStopping, attempt.state.cancellation == nil, outcome.error?.reason == .url(.cancelled) {
      // The attempt stopped for other tasks. It continues later from the bytes on disk, and requests its decisions again.
      attempt.state.partial = outcome.partial
      // The same attempt continues in the same file. If no bytes are left, the next attempt uses another file.
      if outcome.partial != nil { attempt.state.attempts -= 1 }
      attempt.state.deaths = 0
      attempts.insert(attempt)
      effects.keep(attempt)
      effects.facts.append(.attemptReplaced(id, at: now.wall))
      return admit(id, at: now, into: &effects)
    }
    attempt.state.fail(at: outcome.reachedOffset)
    var last = outcome
    switch attempt.nextStep(on: outcome, at: now.wall, jitter: effects.random.fraction()) {
    case .retry(let delay): return retry(attempt, outcome, after: delay, at: now, into: &effects)
    case .timeout(let rest):
      last = AttemptMachine.timedOut(outcome)
      guard rest > 0 else { break }
      attempt.state.partial = outcome.partial
      attempt.wait(rest, at: now)
      attempt.lastOutcome = last
      attempts.insert(attempt)
      effects.keep(attempt)
      return admit(id, at: now, into: &effects)
    case .end: break
    }
    if let held = attempt.heldResponse { effects.facts.append(held) }
    end(id, last, into: &effects)
  }

  private mutating func retry(
    _ ended: AttemptMachine, _ outcome: TransferOutcome, after delay: Double, at now: InputContext,
    into effects: inout WorkerEffects
  ) {
    var attempt = ended
    attempt.state.retries += 1
    attempt.state.deaths = 0
    // The response of a busy origin leaves the bytes on disk unchanged.
    if !outcome.isRefusedByStatus { attempt.state.partial = outcome.partial }
    attempt.wait(delay, at: now)
    attempt.heldResponse = nil
    if case .file = outcome.body {
      effects.engineCommands.append(.remove(BlobKey(attempt.id, .body, outcome.blob)))
    }
    attempts.insert(attempt)
    effects.keep(attempt)
    let wait = RetryWait(
      lastError: outcome.retryReason, nextAttemptAt: attempt.state.retryAt ?? now.wall)
    effects.facts.append(.willRetry(attempt.id, count: attempt.state.retries, at: now.wall, wait: wait))
    admit(attempt.id, at: now, into: &effects)
  }

  /// Leaves a stopped task to the next worker, which continues from the bytes on disk and requests decisions again.
  private mutating func leave(
    _ ended: AttemptMachine, _ outcome: TransferOutcome, at now: InputContext,
    into effects: inout WorkerEffects
  ) {
    var attempt = ended
    attempt.state.partial = outcome.partial
    if outcome.wasSent, attempt.lossCountsAsRetry {
      guard countLost(&attempt, at: now, into: &effects) else { return }
    } else {
      attempt.state.attempts -= 1
      if attempt.state.openChallenge != nil {
        effects.facts.append(.attemptReplaced(attempt.id, at: now.wall))
      }
    }
    attempts.insert(attempt)
    effects.keep(attempt)
  }

  /// Counts an attempt that its worker lost as a lost connection.
  /// - Returns: `false` if no other attempt may follow. The task has then ended.
  mutating func countLost(
    _ attempt: inout AttemptMachine, at now: InputContext, into effects: inout WorkerEffects
  ) -> Bool {
    let outcome = attempt.lost(at: now.wall)
    guard case .retry = attempt.nextStep(on: outcome, at: now.wall, jitter: effects.random.fraction()) else {
      end(attempt.id, outcome, into: &effects)
      return false
    }
    // The next attempt begins at once, because neither the network nor the origin failed.
    attempt.state.retries += 1
    let wait = RetryWait(lastError: outcome.retryReason, nextAttemptAt: now.wall)
    effects.facts.append(.willRetry(attempt.id, count: attempt.state.retries, at: now.wall, wait: wait))
    return true
  }

  // MARK: Recovery

  mutating func recover(
    _ task: TransferTask, in row: TransferSession, _ state: WorkState, _ hasCrashed: Bool,
    at now: InputContext,
    into effects: inout WorkerEffects
  ) {
    guard let session = sessions[task.sessionID].flatMap({ attempts.whole($0, row) }) else { return }
    var attempt = AttemptMachine(task, session: session, state: state)
    let wasActive = attempt.isActive
    attempt.state.isActive = false
    if wasActive, hasCrashed {
      attempt.state.deaths += 1
      attempt.state.crashes += 1
    }
    if let date = attempt.state.retryAt {
      // The wall clock may have been set meanwhile.
      let left = min(max(0, date.since(now.wall)), attempt.state.retryDelay ?? 0)
      attempt.notBefore = now.uptime.advanced(by: .seconds(left))
    }
    attempts.insert(attempt)
    guard attempt.state.cancellation == nil else { return endCancelled(attempt, at: now, into: &effects) }
    if wasActive, attempt.lossCountsAsRetry {
      guard countLost(&attempt, at: now, into: &effects) else { return }
    } else if wasActive {
      attempt.state.attempts -= 1
      effects.facts.append(.attemptReplaced(attempt.id, at: now.wall))
    }
    attempts.insert(attempt)
    let least = attempt.state.crashesOften ? CrashGuard.suspicion : 0
    suspects.recovered(attempt.id, deaths: max(least, attempt.state.deaths))
    effects.keep(attempt)
  }
}

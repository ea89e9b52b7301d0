internal import TransferModel

/// What the engine tells, and what follows an attempt.
extension WorkerMachine {
  mutating func take(_ fact: TransferFact, at now: Now, into turn: inout WorkerTurn) {
    switch fact {
    case .progress:
      // Nobody is told later how far it was before.
      if now.isServiceThere { turn.facts.append(fact) }
    case .keeps(let id, let point):
      attempts.change(id) {
        $0.state.partial = point
        turn.keep($0)
      }
    case .response(let id, let response, _, let time) where RetryPolicy.isPassing(status: response.status):
      attempts.change(id) { $0.heldResponse = .response(id, response, BodyReference(nil), at: time) }
    case .asked(let id, let number, .challenge(let challenge, _), _):
      var known: ChallengeAnswer?
      attempts.change(id) { attempt in
        known = attempt.knownAnswer(to: challenge, number: number)
        if known == nil { turn.keep(attempt) }
      }
      if let known, let attempt = attempts[id] {
        turn.order(.answer(.challenge(known), question: number), of: attempt)
      } else {
        turn.facts.append(fact)
      }
    case .ended(let id, let outcome): attemptEnded(id, outcome, at: now, into: &turn)
    case .began(let id, let time):
      began(id, at: time, now, into: &turn)
      turn.facts.append(fact)
    // Background tasks ask about nothing else, and store nothing in a cache. A download's response is told with its end.
    case .asked, .willCache, .accepted: break
    case .retries, .beganDelayed, .wasTakenOver: assertionFailure("only this machine reports these facts")
    case .redirected, .notified, .response, .waitsForConnectivity, .resumed, .authenticated:
      turn.facts.append(fact)
    }
    startSuspects(at: now, into: &turn)
    if case .ended = fact { review(at: now, into: &turn) }
  }

  /// timeoutIntervalForResource counts from the first time that a task leaves the queue.
  private mutating func began(_ id: TaskID, at time: Timestamp, _ now: Now, into turn: inout WorkerTurn) {
    guard var attempt = attempts[id] else { return }
    if attempt.state.mustProveItself { turn.watch(attempt, for: Self.proof, at: now) }
    attempt.isUnderWay = true
    attempts.insert(attempt)
    if discretion.yields(id), !attempt.isStopping {
      // Its request went out while the engine was told to let others go first: it keeps none of them from its connection.
      discretion.finish(id)
      if !attempt.state.isSuspended { turn.order(.resume, of: attempt) }
    }
    guard attempt.state.startedAt == nil else { return }
    attempt.state.startedAt = time
    attempts.insert(attempt)
    turn.keep(attempt)
  }

  private mutating func attemptEnded(
    _ id: TaskID, _ outcome: TransferOutcome, at now: Now, into turn: inout WorkerTurn
  ) {
    guard var attempt = attempts[id] else { return }
    attempt.state.isActive = false
    // It came to an end, and nobody died of it.
    suspects.progressed(id)
    discretion.end(id)
    if isDraining, attempt.state.cancellation == nil, outcome.error != nil {
      return leave(attempt, outcome, at: now, into: &turn)
    }
    if attempt.isStopping, attempt.state.cancellation == nil, outcome.error?.reason == .url(.cancelled) {
      // Others come first. It goes on after them, from what is on the disk, and asks again.
      attempt.state.partial = outcome.partial
      // It is the same attempt that goes on, in the same file. Where nothing is left of it, the next one writes to another.
      if outcome.partial != nil { attempt.state.attempts -= 1 }
      attempt.state.deaths = 0
      attempts.insert(attempt)
      turn.keep(attempt)
      turn.facts.append(.wasTakenOver(id, at: now.wall))
      return admit(id, at: now, into: &turn)
    }
    attempt.noteProgress(of: outcome)
    var last = outcome
    switch attempt.verdict(on: outcome, at: now.wall, jitter: turn.random.fraction()) {
    case .retry(let delay): return retry(attempt, outcome, after: delay, at: now, into: &turn)
    case .timeout(let rest):
      last = AttemptMachine.timedOut(outcome)
      guard rest > 0 else { break }
      attempt.state.partial = outcome.partial
      attempt.wait(rest, at: now)
      attempt.lastOutcome = last
      attempts.insert(attempt)
      turn.keep(attempt)
      return admit(id, at: now, into: &turn)
    case .end: break
    }
    if let held = attempt.heldResponse { turn.facts.append(held) }
    end(id, last, into: &turn)
  }

  private mutating func retry(
    _ ended: AttemptMachine, _ outcome: TransferOutcome, after delay: Double, at now: Now,
    into turn: inout WorkerTurn
  ) {
    var attempt = ended
    attempt.state.retries += 1
    attempt.state.deaths = 0
    // A busy origin's answer leaves what there is as it was.
    if outcome.error != nil { attempt.state.partial = outcome.partial }
    attempt.wait(delay, at: now)
    attempt.heldResponse = nil
    if case .file = outcome.body { turn.orders.append(.remove(BlobKey(attempt.id, .body, outcome.blob))) }
    attempts.insert(attempt)
    turn.keep(attempt)
    let wait = RetryWait(
      lastError: outcome.retryReason, nextAttemptAt: attempt.state.retryAt ?? now.wall)
    turn.facts.append(.retries(attempt.id, count: attempt.state.retries, at: now.wall, wait: wait))
    admit(attempt.id, at: now, into: &turn)
  }

  /// Another process goes on with it, from what is on the disk, and asks again.
  private mutating func leave(
    _ ended: AttemptMachine, _ outcome: TransferOutcome, at now: Now, into turn: inout WorkerTurn
  ) {
    var attempt = ended
    attempt.state.partial = outcome.partial
    if outcome.transactions.contains(where: { $0.requestStart != nil }), attempt.mustCount {
      guard countLost(&attempt, at: now, into: &turn) else { return }
    } else {
      attempt.state.attempts -= 1
      if attempt.state.question != nil { turn.facts.append(.wasTakenOver(attempt.id, at: now.wall)) }
    }
    attempts.insert(attempt)
    turn.keep(attempt)
  }

  /// Counts an attempt that went with its process as one that has lost its connection. False where no other may follow, and the
  /// task has ended.
  mutating func countLost(
    _ attempt: inout AttemptMachine, at now: Now, into turn: inout WorkerTurn
  ) -> Bool {
    let outcome = attempt.lost(at: now.wall)
    guard case .retry = attempt.verdict(on: outcome, at: now.wall, jitter: turn.random.fraction()) else {
      end(attempt.id, outcome, into: &turn)
      return false
    }
    // At once: it was nobody's fault out there.
    attempt.state.retries += 1
    let wait = RetryWait(lastError: outcome.retryReason, nextAttemptAt: now.wall)
    turn.facts.append(.retries(attempt.id, count: attempt.state.retries, at: now.wall, wait: wait))
    return true
  }

  // MARK: An earlier process

  mutating func recover(
    _ task: TransferTask, in row: TransferSession, _ state: WorkState, _ hasCrashed: Bool, at now: Now,
    into turn: inout WorkerTurn
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
      // The clock may have been set meanwhile.
      let left = min(max(0, date.since(now.wall)), attempt.state.retryDelay ?? 0)
      attempt.notBefore = now.uptime.advanced(by: .seconds(left))
    }
    attempts.insert(attempt)
    guard attempt.state.cancellation == nil else { return endCancelled(attempt, at: now, into: &turn) }
    if wasActive, attempt.mustCount {
      guard countLost(&attempt, at: now, into: &turn) else { return }
    } else if wasActive {
      attempt.state.attempts -= 1
      turn.facts.append(.wasTakenOver(attempt.id, at: now.wall))
    }
    attempts.insert(attempt)
    let least = attempt.state.crashesOften ? CrashGuard.suspicion : 0
    suspects.recovered(attempt.id, deaths: max(least, attempt.state.deaths))
    turn.keep(attempt)
  }
}

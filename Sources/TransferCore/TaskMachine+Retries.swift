internal import HTTPFields
package import TransferModel

/// The attempts of a task outside background sessions, whose service repeats failed attempts. `AttemptMachine` does so in the worker.
extension TaskMachine {
  /// The policy of the task's attempts; `nil` if the first failure ends the task. That is so once clients know the response.
  package func retryPolicy(_ session: borrowing TransferSession) -> RetryPolicy? {
    session.type == .background || task.response != nil ? nil : RetryPolicy(of: task, in: session)
  }

  mutating func change(_ body: (inout ServiceAttempt) -> Void) {
    var attempt = attempt ?? ServiceAttempt()
    body(&attempt)
    self.attempt = attempt
  }

  // MARK: Start

  /// Returns whether the task must wait: for the time of its next attempt, or for the trials of other suspects. Ends a task that has no time
  /// left.
  mutating func mustWait(
    _ session: borrowing TransferSession, at now: InputContext, into effects: inout SessionEffects
  ) -> Bool {
    guard let progress = task.retryProgress, session.type != .background else { return false }
    if let time = nextAttempt(progress, at: now) {
      change { $0.notBefore = time }
      let seconds = (time - now.uptime) / .seconds(1)
      if !effects.isLeaving { effects.timers.append(.retry(id, afterSeconds: seconds)) }
      return true
    }
    if let start = progress.startedAt,
      now.wall.since(start) >= session.configuration.timeoutIntervalForResource
    {
      var outcome = task.outcome(.timedOut, "timeoutIntervalForResource has passed", at: now.wall)
      outcome.keep(task.partial)
      end(outcome, session, at: now, into: &effects)
      return true
    }
    guard progress.deaths >= CrashGuard.suspicion, attempt?.isOnTrial != true else { return false }
    effects.trials.append(.wanted(id, deaths: progress.deaths))
    return true
  }

  /// Returns the time of the next attempt; `nil` if it has come.
  private func nextAttempt(_ progress: RetryProgress, at now: InputContext) -> ContinuousClock.Instant? {
    guard let delay = progress.delay, let date = task.retryWait?.nextAttemptAt else { return nil }
    // The wall clock may have been set since an earlier service stored the date.
    let time =
      attempt?.notBefore ?? now.uptime.advanced(by: .seconds(min(max(0, date.since(now.wall)), delay)))
    return time > now.uptime ? time : nil
  }

  /// Counts an attempt that is about to be submitted.
  mutating func beginAttempt(
    _ session: borrowing TransferSession, at now: InputContext, into effects: inout SessionEffects
  ) {
    var progress = task.retryProgress ?? RetryProgress()
    progress.attempts += 1
    (progress.isActive, progress.delay) = (true, nil)
    let whole = session.configuration.timeoutIntervalForResource
    // If the wall clock was set back, the time left is still at most the whole interval.
    progress.timeLeft = progress.startedAt.map { max(0.001, min(whole, whole - now.wall.since($0))) }
    task.retryProgress = progress
    let isOnTrial = attempt?.isOnTrial == true
    attempt = ServiceAttempt(isOnTrial: isOnTrial)
    guard progress.deaths > 0 else { return }
    effects.timers.append(.crashWindow(id, after: WorkerMachine.longestCrashWindow))
  }

  // MARK: Facts

  /// Holds back the parts of an attempt that clients see only if no other attempt follows.
  /// - Returns: whether the fact is handled.
  mutating func holdsBack(
    _ fact: TransferFact, _ session: borrowing TransferSession, at now: InputContext,
    into effects: inout SessionEffects
  ) -> Bool {
    guard task.retryProgress != nil, let policy = retryPolicy(session) else { return false }
    func asksForRetry(_ response: TransferResponse) -> Bool {
      policy.mayRetry(status: response.status, number: task.retryProgress?.attempts ?? 0)
    }
    switch fact {
    case .response(_, let response, _, _) where asksForRetry(response):
      change { $0.heldResponse = fact }
    case .accepted(_, let response):
      // The response of a download is reported with its end.
      if asksForRetry(response) { change { $0.heldResponse = fact } }
    case .asked(_, let number, .response(let response, let body), let time)
    where next(policy, nil, response, at: now, jitter: 0).isRetry:
      let held = TransferFact.response(id, response, body, at: time)
      change { ($0.heldResponse, $0.skippedDecision) = (held, true) }
      effects.answer(number, of: id, .allow)
    case .asked(_, let number, .caching, _) where attempt?.heldResponse != nil:
      effects.answer(number, of: id, .caching(.notAllowed, headers: nil))
    case .willCache where attempt?.heldResponse != nil, .progress where attempt?.heldResponse != nil: break
    default: return false
    }
    return true
  }

  /// Records the start of an attempt.
  mutating func attemptBegan(at time: Timestamp, into effects: inout SessionEffects) {
    guard var progress = task.retryProgress else { return }
    progress.startedAt = progress.startedAt ?? time
    task.retryProgress = progress
    if progress.deaths > 0 { effects.timers.append(.crashWindow(id, after: WorkerMachine.crashWindow)) }
  }

  /// Clears an attempt of suspicion that has lasted for a while.
  mutating func crashWindowPassed(into effects: inout SessionEffects) {
    guard executionState == .executing, task.retryProgress?.deaths ?? 0 > 0 else { return }
    clearSuspicion(into: &effects)
    effects.update(task)
  }

  /// Clears a task of suspicion that has ended an attempt without a crash.
  mutating func clearSuspicion(into effects: inout SessionEffects) {
    guard let deaths = task.retryProgress?.deaths, deaths > 0 else { return }
    task.retryProgress?.deaths = 0
    change { $0.isOnTrial = false }
    effects.timers.append(.cancelCrashWindow(id))
    effects.trials.append(.over(id))
  }

  /// Ends a trial whose task did not start. The task is tried again later.
  mutating func endTrial(into effects: inout SessionEffects) {
    change { $0.isOnTrial = false }
    effects.trials.append(.over(id))
  }

  // MARK: End

  /// Decides what follows an attempt.
  /// - Parameter outcome: the attempt's outcome. If no time is left for another attempt, it becomes a timeout.
  /// - Returns: whether another attempt follows.
  mutating func retries(
    after outcome: inout TransferOutcome, _ session: borrowing TransferSession, at now: InputContext,
    into effects: inout SessionEffects
  ) -> Bool {
    guard task.state != .canceling, task.retryProgress != nil, let policy = retryPolicy(session) else {
      return false
    }
    clearSuspicion(into: &effects)
    task.retryProgress?.isActive = false
    task.retryProgress?.fail(at: outcome.reachedOffset)
    let jitter = effects.identifiers.fraction()
    switch next(policy, outcome.error, outcome.response, at: now, jitter: jitter) {
    case .retry(let delay):
      wait(delay, after: outcome, session, at: now, into: &effects)
      return true
    case .timeout:
      discardBody(of: outcome, session, into: &effects)
      outcome = AttemptMachine.timedOut(outcome)
    // The time for another attempt has passed since the head of the response.
    case .end where attempt?.skippedDecision == true && outcome.isRefusedByStatus:
      discardBody(of: outcome, session, into: &effects)
      outcome = AttemptMachine.timedOut(outcome)
    case .end: break
    }
    // No other attempt follows, so clients get the response that was held back.
    if attempt?.skippedDecision != true, let held = attempt?.heldResponse, case .response = held {
      (attempt, task.retryProgress) = (nil, nil)
      handle(held, session, at: now, into: &effects)
    }
    return false
  }

  private func next(
    _ policy: RetryPolicy, _ error: TransferError?, _ response: TransferResponse?, at now: InputContext,
    jitter: Double
  ) -> RetryPolicy.NextStep {
    let progress = task.retryProgress ?? RetryProgress()
    let attempt = RetryPolicy.Attempt(
      error: error, status: response?.status, retryAfter: response?.headers.single("Retry-After"),
      number: progress.attempts, failures: progress.failures)
    return policy.next(
      after: attempt, firstStart: progress.startedAt ?? now.wall, now: now.wall, jitter: jitter)
  }

  private mutating func wait(
    _ seconds: Double, after outcome: TransferOutcome, _ session: borrowing TransferSession,
    at now: InputContext, into effects: inout SessionEffects
  ) {
    discardBody(of: outcome, session, into: &effects)
    if !outcome.isRefusedByStatus { task.partial = outcome.partial }
    task.retryProgress?.delay = seconds
    attempt = ServiceAttempt(notBefore: now.uptime.advanced(by: .seconds(seconds)))
    executionState = .idle(goesOn: false)
    awaitAttempt(
      RetryWait(lastError: outcome.retryReason, nextAttemptAt: now.wall.adding(seconds: seconds)), session,
      at: now, into: &effects)
  }

  /// Deletes the body of an attempt whose response clients do not get. A small body is in no file. In an ephemeral session, it uses memory
  /// quota under its key.
  func discardBody(
    of outcome: TransferOutcome, _ session: borrowing TransferSession, into effects: inout SessionEffects
  ) {
    guard let body = outcome.body, body.isFile || session.type == .ephemeral else { return }
    effects.unwantedBodies.append(BlobKey(id, .body, outcome.blob))
  }

  /// Starts the next attempt of a waiting task now.
  mutating func retryNow(
    _ session: borrowing TransferSession, at now: InputContext, into effects: inout SessionEffects
  ) {
    guard task.phase == .waitingToRetry else { return }
    guard !effects.runsInWorker else { return effects.send(.retryNow, of: id) }
    task.retryProgress?.delay = nil
    effects.timers.append(.cancelBegin(id))
    effects.update(task)
    startIfReady(session, at: now, into: &effects)
  }

  /// Shows that another attempt will follow, and starts it when its time has come.
  private mutating func awaitAttempt(
    _ wait: RetryWait, _ session: borrowing TransferSession, at now: InputContext,
    into effects: inout SessionEffects
  ) {
    retries(task.retryCount + 1, wait, at: now.wall, session, into: &effects)
    effects.update(task)
    startIfReady(session, at: now, into: &effects)
  }

  // MARK: Other services

  /// Whether another service can continue the task, although clients see that an attempt was repeated.
  func canRetryElsewhere(_ session: borrowing TransferSession) -> Bool {
    task.canContinueElsewhere || task.retryProgress != nil && retryPolicy(session) != nil
  }

  /// Records an attempt that stopped for another service. If its request is not idempotent and may have been sent, it counts as a failed
  /// one (RFC 9110 §9.2.2).
  /// - Returns: `false` if the task cannot move.
  mutating func leaveAttempt(
    _ outcome: TransferOutcome, _ session: borrowing TransferSession, at now: InputContext,
    into effects: inout SessionEffects
  ) -> Bool {
    guard task.retryProgress != nil, retryPolicy(session) != nil else {
      return task.continueElsewhere(from: outcome)
    }
    clearSuspicion(into: &effects)
    task.retryProgress?.isActive = false
    attempt = nil
    if outcome.wasSent, !task.submittedRequest.isIdempotent {
      guard countLost(session, at: now, into: &effects) else { return false }
    } else {
      task.retryProgress?.attempts -= 1
    }
    task.currentRequest = task.submittedRequest
    task.partial = outcome.partial
    return true
  }

  /// Continues a task whose service is gone.
  /// - Returns: `false` if no policy allows that.
  mutating func recoverAttempt(
    _ session: borrowing TransferSession, at now: InputContext, into effects: inout SessionEffects
  ) -> Bool {
    guard retryPolicy(session) != nil else { return false }
    guard task.retryProgress?.isActive == true else {
      // The decision about the start ended with its service, so the delegate is asked again.
      if task.phase == .waitingForDecision { task.enter(.queued, at: now.wall, session, into: &effects) }
      startRecovered(session, at: now, into: &effects)
      return true
    }
    task.retryProgress?.isActive = false
    task.retryProgress?.deaths += 1
    let deaths = task.retryProgress?.deaths ?? 0
    guard deaths < CrashGuard.limit else {
      var outcome = task.outcome(.unknown, "", at: now.wall)
      outcome.error = TransferError(
        .attemptLimitReached, "the service ended \(deaths) times in a row while it ran the task",
        failingURL: task.currentRequest.url)
      outcome.keep(task.partial)
      end(outcome, session, at: now, into: &effects)
      return true
    }
    guard countLost(session, at: now, into: &effects) else { return false }
    effects.update(task)
    startIfReady(session, at: now, into: &effects)
    return true
  }

  /// Counts an attempt whose service is gone as a lost connection. The next attempt begins at once, because neither the network nor the
  /// origin failed.
  /// - Returns: `false` if no other attempt may follow.
  private mutating func countLost(
    _ session: borrowing TransferSession, at now: InputContext, into effects: inout SessionEffects
  ) -> Bool {
    guard let policy = retryPolicy(session) else { return false }
    var outcome = task.outcome(.unknown, "", at: now.wall)
    outcome.endAsInterrupted()
    guard next(policy, outcome.error, nil, at: now, jitter: 0).isRetry else { return false }
    let wait = RetryWait(lastError: outcome.retryReason, nextAttemptAt: now.wall)
    retries(task.retryCount + 1, wait, at: now.wall, session, into: &effects)
    return true
  }
}

extension RetryPolicy.NextStep {
  fileprivate var isRetry: Bool { if case .retry = self { true } else { false } }
}

extension TransferOutcome {
  /// Keeps a resume point, if there is one.
  mutating func keep(_ point: ResumePoint?) {
    guard let point else { return }
    partial = point
    error?.resumeDataAvailable = true
  }
}

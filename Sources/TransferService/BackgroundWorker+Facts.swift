internal import Synchronization
internal import TransferEngine
internal import TransferModel
internal import TransferStore

/// What the engine tells, and what follows an attempt.
extension BackgroundWorker {
  func absorb(_ facts: [TransferFact]) {
    let isHeard = facts.contains { if case .progress = $0 { true } else { false } } && self.isHeard()
    state.withLock { state in
      var change = StoreChange()
      for fact in facts { absorb(fact, isHeard: isHeard, &state, &change) }
      startSuspects(&state, &change)
      if facts.contains(where: { if case .ended = $0 { true } else { false } }) {
        reviewDiscretionary(&state, &change)
      }
      record(change, &state)
    }
  }

  private func absorb(
    _ fact: TransferFact, isHeard: Bool, _ state: inout State, _ change: inout StoreChange
  ) {
    switch fact {
    case .progress:
      // Nobody is told later how far it was before.
      if isHeard, let news = WorkerNews(fact) { change.tell(news) }
    case .keeps(let id, let point):
      state.work[id]?.state.partial = point
      if let work = state.work[id] { change.keep(work) }
    case .response(let id, let response, _, _) where RetryPolicy.isPassing(status: response.status):
      state.work[id]?.heldResponse = WorkerNews(fact)
    case .asked(let id, let number, .challenge(let challenge, _), _):
      if isAnswered(challenge, number, of: id, &state, &change) { return }
      if let news = WorkerNews(fact) { change.tell(news) }
    case .ended(let id, let outcome): attemptEnded(id, outcome, &state, &change)
    case .began(let id, let time):
      began(id, at: time, &state, &change)
      fallthrough
    default: if let news = WorkerNews(fact) { change.tell(news) }
    }
  }

  /// timeoutIntervalForResource counts from the first time that a task leaves the queue.
  private func began(_ id: TaskID, at time: Timestamp, _ state: inout State, _ change: inout StoreChange) {
    guard var work = state.work[id] else { return }
    if work.state.mustProveItself { watch(work) }
    guard work.state.startedAt == nil else { return }
    work.state.startedAt = time
    state.work[id] = work
    change.keep(work)
  }

  /// Whether an earlier attempt had the answer, and its process died, or its connection broke: this one gets the same, once.
  private func isAnswered(
    _ challenge: AuthenticationChallenge, _ number: Int, of id: TaskID, _ state: inout State,
    _ change: inout StoreChange
  ) -> Bool {
    guard var work = state.work[id] else { return false }
    defer { state.work[id] = work }
    (work.state.questions, work.state.question) = (number, nil)
    let asked = AskedChallenge(challenge)
    if let known = work.state.answers.first(where: { $0.challenge == asked }), !work.repeated.contains(asked)
    {
      work.repeated.append(asked)
      engine.answer(id, in: work.session.id, to: number, .challenge(known.answer))
      return true
    }
    work.state.answers.removeAll { $0.challenge == asked }
    work.state.question = asked
    change.keep(work)
    return false
  }

  private func attemptEnded(
    _ id: TaskID, _ outcome: TransferOutcome, _ state: inout State, _ change: inout StoreChange
  ) {
    guard var work = state.work[id] else { return }
    work.state.isActive = false
    // It came to an end, and nobody died of it.
    state.suspects.progressed(id)
    state.end(id)
    defer { tellIdle(&state) }
    if state.isDraining, work.state.cancellation == nil, outcome.error != nil {
      // Another goes on with it, from what is on the disk, and asks again.
      work.state.partial = outcome.partial
      if outcome.transactions.contains(where: { $0.requestStart != nil }), mustCount(work) {
        guard countLost(&work, &state, &change) else { return }
      } else {
        work.state.attempts -= 1
        if work.state.question != nil { change.tell(.wasTakenOver(id, at: now())) }
      }
      state.work[id] = work
      return change.keep(work)
    }
    var outcome = outcome
    let kept = outcome.partial?.download?.partial.offset
    let offset = kept ?? (outcome.partial == nil ? 0 : outcome.progress.countOfBytesSent)
    work.state.failures = offset > work.state.furthest ? 1 : work.state.failures + 1
    work.state.furthest = max(offset, work.state.furthest)
    switch verdict(on: outcome, of: work) {
    case .retry(let delay):
      work.state.retries += 1
      work.state.deaths = 0
      // A busy origin's answer leaves what there is as it was.
      if outcome.error != nil { work.state.partial = outcome.partial }
      (work.state.retryAt, work.state.retryDelay) = (now().adding(seconds: delay), delay)
      work.notBefore = alarms.now() + .seconds(delay)
      work.heldResponse = nil
      if case .file = outcome.body { engine.onPool { [bodies] in bodies.remove(id) } }
      state.work[id] = work
      change.keep(work)
      change.tell(.retries(id, count: work.state.retries, at: now()))
      return admit(id, &state, &change)
    case .timeout(let rest):
      var error = TransferError(
        .timedOut, "timeoutIntervalForResource has passed", failingURL: outcome.currentRequest.url,
        underlying: outcome.error?.underlying)
      error.resumeDataAvailable = outcome.partial != nil
      (outcome.error, outcome.body) = (error, nil)
      guard rest <= 0 else { return wait(rest, toEnd: &work, with: outcome, &state, &change) }
    case .end: break
    }
    if let held = work.heldResponse { change.tell(held) }
    end(id, outcome, &state, &change)
  }

  /// No other attempt may begin, and its time is not over.
  private func wait(
    _ rest: Double, toEnd work: inout Work, with outcome: TransferOutcome, _ state: inout State,
    _ change: inout StoreChange
  ) {
    work.state.partial = outcome.partial
    (work.state.retryAt, work.state.retryDelay) = (now().adding(seconds: rest), rest)
    work.notBefore = alarms.now() + .seconds(rest)
    work.lastOutcome = outcome
    state.work[work.task.id] = work
    change.keep(work)
    admit(work.task.id, &state, &change)
  }

  /// Ends a task whose time is over before another attempt of it. False where there is some left.
  func endsInTime(_ work: Work, _ state: inout State, _ change: inout StoreChange) -> Bool {
    guard let start = work.state.startedAt else { return false }
    let whole = work.session.configuration.timeoutIntervalForResource
    guard work.lastOutcome != nil || now().since(start) >= whole else { return false }
    var outcome =
      work.lastOutcome
      ?? TransferService.outcome(
        of: work.task, .timedOut, "timeoutIntervalForResource has passed", at: now())
    if work.lastOutcome == nil {
      outcome.partial = work.state.partial
      outcome.error?.resumeDataAvailable = outcome.partial != nil
    }
    outcome.endedAt = now()
    end(work.task.id, outcome, &state, &change)
    return true
  }

  /// Its origin may have acted on a request that is not to be sent twice unseen (RFC 9110 §9.2.2). Where the origin keeps what has
  /// come of it, it is asked first.
  func mustCount(_ work: Work) -> Bool {
    !work.task.currentRequest.isIdempotent && work.state.partial?.upload == nil
  }

  /// Counts an attempt that went with its process as one that has lost its connection. False where no other may follow, and the
  /// task has ended.
  func countLost(_ work: inout Work, _ state: inout State, _ change: inout StoreChange) -> Bool {
    let (id, request) = (work.task.id, work.task.currentRequest)
    var outcome = TransferService.outcome(
      of: work.task, .networkConnectionLost,
      "the worker ended while the request was under way; a \(request.method) is not sent again unseen",
      at: now())
    outcome.partial = work.state.partial
    guard case .retry = verdict(on: outcome, of: work) else {
      end(id, outcome, &state, &change)
      return false
    }
    // At once: it was nobody's fault out there.
    work.state.retries += 1
    change.tell(.retries(id, count: work.state.retries, at: now()))
    return true
  }

  private func verdict(on outcome: TransferOutcome, of work: Work) -> RetryPolicy.Next {
    guard work.state.cancellation == nil else { return .end }
    let configuration = work.session.configuration
    let policy = RetryPolicy(
      configuration: configuration.retry, timeoutIntervalForResource: configuration.timeoutIntervalForResource
    )
    let attempt = RetryPolicy.Attempt(
      error: outcome.error, status: outcome.response?.status,
      retryAfter: outcome.response?.headers["Retry-After"], number: work.state.attempts,
      failures: work.state.failures)
    return policy.next(
      after: attempt, firstStart: work.state.startedAt ?? now(), now: now(), jitter: .random(in: 0..<1))
  }

  /// The task is over: this is the last that is heard of it.
  func end(_ id: TaskID, _ outcome: TransferOutcome, _ state: inout State, _ change: inout StoreChange) {
    if state.work[id]?.task.earliestBeginDate != nil { deadlines.remove(.begin(id)) }
    state.work[id] = nil
    state.end(id)
    state.suspects.ended(id)
    change.tell(.ended(id, outcome))
    change.finishedWork.append(id)
  }

  func tellIdle(_ state: inout State) {
    guard !state.whenIdle.isEmpty, state.active.isEmpty else { return }
    let waiting = state.whenIdle
    state.whenIdle = []
    for action in waiting { action() }
  }
}

internal import HTTPFields
package import TransferModel

/// The attempts of one background task, as the worker sees them. A plain value.
package struct AttemptMachine: Sendable {
  /// The task as it was submitted, with the changes that clients made since.
  package internal(set) var task: TransferTask
  package let session: TransferSession
  package internal(set) var state: WorkState
  /// A response that asks for a retry, such as 429 or 503. The service learns of it only if no other attempt follows.
  var heldResponse: TransferFact?
  /// The challenges answered in this attempt. Each stored answer is used at most once for each attempt.
  var repeated: [ChallengeIdentity] = []
  /// The earliest start of the next attempt. Changes of the wall clock do not affect it.
  var notBefore: ContinuousClock.Instant?
  /// Whether the engine has begun the attempt. The request has been sent, or is about to be.
  var isInFlight = false
  /// Whether the engine must stop the attempt and keep its bytes, because other tasks go first.
  var isStopping = false
  /// Whether the service was notified of the response, so that clients may know it.
  var hasResponded = false
  /// Set if the client has changed the request of the running attempt, which must stop. Its result does not count.
  var replacement: Replacement?
  /// The outcome of the last attempt, if the time left is too short for another attempt.
  var lastOutcome: TransferOutcome?

  /// Starts with a submitted task, and with the resume point that its client supplied.
  init(_ task: TransferTask, session: TransferSession) {
    precondition(!session.isOutline, "an attempt needs the whole session, not an outline")
    self.task = task
    self.session = session
    state = WorkState()
    state.request = task.currentRequest
    state.partial = task.startPoint
  }

  /// Restores a task from the row that an earlier worker left.
  init(_ task: TransferTask, session: TransferSession, state: WorkState) {
    precondition(!session.isOutline, "an attempt needs the whole session, not an outline")
    self.task = task
    if let request = state.request { self.task.currentRequest = request }
    self.session = session
    self.state = state
  }

  var id: TaskID { task.id }
  /// Whether the attempt was submitted to the engine and has not ended.
  var isActive: Bool { state.isActive }
  var isDiscretionary: Bool { session.configuration.isDiscretionary || task.isDiscretionary }

  /// Whether the start of the attempt must be on disk before its request is sent. The first case is a request that is not idempotent (RFC
  /// 9110 §9.2.2). The second case is an attempt that uses the partial file of another download, which it may have to return.
  var needsCommitBeforeSend: Bool {
    !task.currentRequest.isIdempotent || state.partial?.download.map { $0.source != task.id } == true
  }

  /// Whether an attempt that its worker lost counts as a retry. If its request is not idempotent, the origin may have acted on it (RFC 9110
  /// §9.2.2). A resumable upload does not count, because the origin is asked first how much it has.
  var lossCountsAsRetry: Bool {
    !task.currentRequest.isIdempotent && state.partial?.upload == nil
      && !InjectedFault.countsNoLostAttempt.isPresent
  }

  /// How a running attempt yields to other tasks. Suspension does not free the attempt's connection, and other tasks may need that
  /// connection (URLSessionConfiguration.httpMaximumConnectionsPerHost).
  enum YieldMode {
    /// The attempt waits in the engine's queue without a connection.
    case suspended
    /// The attempt stops and frees its connection. Another attempt continues with its bytes.
    case stopped
    /// The attempt runs to its end, because another one would have to start from zero.
    case never
  }

  var yielding: YieldMode {
    guard isInFlight else { return .suspended }
    return state.partial != nil && !lossCountsAsRetry ? .stopped : .never
  }

  // MARK: Start

  mutating func begin() {
    (state.retryAt, state.retryDelay) = (nil, nil)
    state.attempts += 1
    state.isActive = true
    (notBefore, repeated, heldResponse) = (nil, [], nil)
    (isInFlight, isStopping) = (false, false)
    (hasResponded, replacement) = (false, nil)
    state.openChallenge = nil
  }

  /// Records that the begin date has come, if it has.
  /// - Returns: Whether the task was waiting for its begin date. If a delegate decides about the start, the service has waited instead.
  mutating func beginDateHasCome(at now: InputContext) -> Bool {
    guard let date = dateToCome, date <= now.wall else { return false }
    state.hasBegun = true
    return true
  }

  /// Returns what the task waits for: its begin date, or the time of the next attempt. Returns `nil` if it waits for neither.
  func nextAlarm(at now: InputContext) -> WorkerEffects.TimerChange? {
    if let date = dateToCome { return .begin(id, at: date) }
    guard let notBefore, notBefore > now.uptime else { return nil }
    return .retry(id, at: notBefore)
  }

  /// The begin date that the task still waits for.
  private var dateToCome: Timestamp? {
    guard !state.hasBegun, state.startedAt == nil,
      session.delegate(of: task)?.asksForDelayedRequests != true
    else { return nil }
    return task.earliestBeginDate
  }

  func submission(at time: Timestamp) -> Submission {
    let whole = session.configuration.timeoutIntervalForResource
    // If the wall clock was set back, the time left is still at most the whole interval.
    let left = min(whole, whole - time.since(state.startedAt ?? time))
    return Submission(
      task: task, session: session, timeLeft: max(0.001, left), resumePoint: state.partial,
      questions: state.decisionCount, number: state.attempts)
  }

  /// Returns the outcome of a task whose timeout has passed between two attempts; `nil` if some time is left.
  func outcomeInTime(at time: Timestamp) -> TransferOutcome? {
    guard let start = state.startedAt else { return nil }
    let whole = session.configuration.timeoutIntervalForResource
    guard lastOutcome != nil || time.since(start) >= whole else { return nil }
    guard var outcome = lastOutcome else {
      var outcome = task.outcome(.timedOut, "timeoutIntervalForResource has passed", at: time)
      outcome.partial = state.partial
      outcome.error?.resumeDataAvailable = outcome.partial != nil
      return outcome
    }
    outcome.endedAt = time
    return outcome
  }

  // MARK: Challenges

  /// Returns the stored answer to the same challenge of an earlier attempt, at most once for each attempt. `nil` if the delegate must
  /// decide.
  mutating func knownAnswer(to challenge: AuthenticationChallenge, number: Int) -> ChallengeAnswer? {
    (state.decisionCount, state.openChallenge) = (number, nil)
    let asked = ChallengeIdentity(challenge)
    if let known = state.answers.first(where: { $0.challenge == asked }), !repeated.contains(asked) {
      repeated.append(asked)
      return known.answer
    }
    state.answers.removeAll { $0.challenge == asked }
    state.openChallenge = asked
    return nil
  }

  /// Stores an answer for later attempts.
  /// - Returns: `false` if the answer belongs to an earlier challenge.
  mutating func keepAnswer(_ answer: ChallengeAnswer, to number: Int) -> Bool {
    guard let question = state.openChallenge, state.waits(for: number) else { return false }
    state.openChallenge = nil
    state.answers.append(AnsweredChallenge(challenge: question, answer: answer))
    repeated.append(question)
    return true
  }

  // MARK: End

  /// Never `nil` in a background session.
  private var policy: RetryPolicy? { RetryPolicy(of: task, in: session) }

  /// Returns whether a response with this status may be followed by another attempt.
  func mayRetry(status: Int) -> Bool { policy?.mayRetry(status: status, number: state.attempts) == true }

  func nextStep(on outcome: TransferOutcome, at time: Timestamp, jitter: Double) -> RetryPolicy.NextStep {
    guard state.cancellation == nil else { return .end }
    guard let policy else { return .end }
    let attempt = RetryPolicy.Attempt(
      error: outcome.error, status: outcome.response?.status,
      retryAfter: outcome.response?.headers.single("Retry-After"), number: state.attempts,
      failures: state.failures)
    return policy.next(after: attempt, firstStart: state.startedAt ?? time, now: time, jitter: jitter)
  }

  /// Sets the time of the next step, in seconds from now.
  mutating func wait(_ seconds: Double, at now: InputContext) {
    (state.retryAt, state.retryDelay) = (now.wall.adding(seconds: seconds), seconds)
    notBefore = now.uptime.advanced(by: .seconds(seconds))
  }

  /// Makes the next attempt due. A task that waits for its timeout keeps waiting.
  mutating func retryNow() {
    guard lastOutcome == nil else { return }
    (state.retryAt, state.retryDelay, notBefore) = (nil, nil, nil)
  }

  /// Returns the outcome of a task that was running while too many workers crashed.
  func crashLimitOutcome(_ deaths: Int, at time: Timestamp) -> TransferOutcome {
    var outcome = task.outcome(.unknown, "", at: time)
    outcome.error = TransferError(
      .attemptLimitReached, "the worker crashed \(deaths) times while it carried out the task",
      failingURL: task.currentRequest.url)
    outcome.partial = state.partial
    outcome.error?.resumeDataAvailable = state.partial != nil
    return outcome
  }

  /// Returns the outcome of a task that has no time left for another attempt.
  static func timedOut(_ last: TransferOutcome) -> TransferOutcome {
    var outcome = last
    var error = TransferError(
      .timedOut, "timeoutIntervalForResource has passed", failingURL: outcome.currentRequest.url,
      underlying: outcome.error?.underlying)
    error.resumeDataAvailable = outcome.partial != nil
    (outcome.error, outcome.body) = (error, nil)
    return outcome
  }

  /// Returns the outcome of a task that was cancelled between two attempts.
  func cancelled(at time: Timestamp) -> TransferOutcome {
    var outcome = task.outcome(.cancelled, "cancelled", at: time)
    if state.cancellation == .keepingPartial { outcome.keep(state.partial) }
    return outcome
  }

  /// Returns the outcome of a request that may not be repeated and was running when its worker ended.
  func lost(at time: Timestamp) -> TransferOutcome {
    let method = task.currentRequest.method
    var outcome = task.outcome(
      .networkConnectionLost,
      "the worker ended while the request was running; a \(method) is not repeated automatically", at: time)
    outcome.partial = state.partial
    return outcome
  }
}

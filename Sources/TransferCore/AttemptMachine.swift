internal import HTTPFields
package import TransferModel

/// What is being tried for one background task, in the process that carries it out. A plain value.
package struct AttemptMachine: Sendable {
  /// As it was when it was handed over, but for what clients have changed.
  package internal(set) var task: TransferTask
  package let session: TransferSession
  package internal(set) var state: WorkState
  /// An answer that is shown only where it is the last.
  var heldResponse: TransferFact?
  /// What this attempt was told again of what an earlier one had asked.
  var repeated: [AskedChallenge] = []
  /// When the next attempt may begin; not moved by a clock that is set.
  var notBefore: ContinuousClock.Instant?
  /// Its request is out, or has been.
  var isUnderWay = false
  /// The engine is to give it up, with what it has got, because others come first.
  var isStopping = false
  /// How the last attempt ended, where there is no time for another and some is left.
  var lastOutcome: TransferOutcome?

  /// A task that is handed over, with what its client gave to go on from.
  init(_ task: TransferTask, session: TransferSession) {
    precondition(!session.isOutline, "an attempt needs the whole session, not an outline")
    self.task = task
    self.session = session
    state = WorkState()
    state.request = task.currentRequest
    state.partial = task.partial ?? task.resumePoint
  }

  /// A task that an earlier process has left.
  init(_ task: TransferTask, session: TransferSession, state: WorkState) {
    precondition(!session.isOutline, "an attempt needs the whole session, not an outline")
    self.task = task
    if let request = state.request { self.task.currentRequest = request }
    self.session = session
    self.state = state
  }

  var id: TaskID { task.id }
  /// The engine has it.
  var isActive: Bool { state.isActive }
  var isDiscretionary: Bool { session.configuration.isDiscretionary || task.isDiscretionary }

  /// Who comes after a death must know that an attempt has begun, where a request must not be sent twice unseen (RFC 9110 §9.2.2),
  /// and where the attempt takes the bytes of another download, which are to be given back.
  var mustBeWrittenFirst: Bool {
    !task.currentRequest.isIdempotent || state.partial?.download.map { $0.source != task.id } == true
  }

  /// Its origin may have acted on a request that is not to be sent twice unseen (RFC 9110 §9.2.2). Where the origin keeps what has
  /// come of it, it is asked first.
  var mustCount: Bool {
    !task.currentRequest.isIdempotent && state.partial?.upload == nil && !Flaw.countsNoLostAttempt.isPresent
  }

  /// How it lets others go first. A transfer that is only suspended keeps its connection, and those others may wait for just that
  /// (URLSessionConfiguration.httpMaximumConnectionsPerHost).
  enum Yielding {
    /// It waits in the engine's queue, where it has no connection.
    case suspended
    /// It gives its connection back, and another attempt goes on with what it has got.
    case stopped
    /// All that it has done would be done again: it goes on to its end.
    case never
  }

  var yielding: Yielding {
    guard isUnderWay else { return .suspended }
    return state.partial != nil && !mustCount ? .stopped : .never
  }

  // MARK: Beginning

  mutating func begin() {
    (state.retryAt, state.retryDelay) = (nil, nil)
    state.attempts += 1
    state.isActive = true
    (notBefore, repeated, heldResponse) = (nil, [], nil)
    (isUnderWay, isStopping) = (false, false)
    state.question = nil
  }

  /// Notes that its begin date has come. True where it has waited for that; where a delegate is asked, the service has waited for the
  /// date, and for the answer.
  mutating func beginDateHasCome(at now: Now) -> Bool {
    guard let date = dateToCome, date <= now.wall else { return false }
    state.hasBegun = true
    return true
  }

  /// What it waits for before it may begin: its begin date, or the time of the next attempt.
  func nextAlarm(at now: Now) -> WorkerTurn.Alarm? {
    if let date = dateToCome { return .begin(id, at: date) }
    guard let notBefore, notBefore > now.uptime else { return nil }
    return .retry(id, at: notBefore)
  }

  /// The begin date, where it is not known to have come.
  private var dateToCome: Timestamp? {
    guard !state.hasBegun, state.startedAt == nil,
      session.delegate(of: task)?.asksForDelayedRequests != true
    else { return nil }
    return task.earliestBeginDate
  }

  func submission(at time: Timestamp) -> Submission {
    let whole = session.configuration.timeoutIntervalForResource
    // A clock that was set back gives nobody more time than the whole.
    let left = min(whole, whole - time.since(state.startedAt ?? time))
    return Submission(
      task: task, session: session, timeLeft: max(0.001, left), resumePoint: state.partial,
      questions: state.questions, number: state.attempts)
  }

  /// How a task ends whose time is over before another attempt of it; nil where there is some left.
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

  // MARK: Questions

  /// What an earlier attempt was told when it asked the same, as its process died or its connection broke: this one gets it once.
  /// Nil: the delegate is to be asked.
  mutating func knownAnswer(to challenge: AuthenticationChallenge, number: Int) -> ChallengeAnswer? {
    (state.questions, state.question) = (number, nil)
    let asked = AskedChallenge(challenge)
    if let known = state.answers.first(where: { $0.challenge == asked }), !repeated.contains(asked) {
      repeated.append(asked)
      return known.answer
    }
    state.answers.removeAll { $0.challenge == asked }
    state.question = asked
    return nil
  }

  /// Keeps an answer for the next attempt. False where it crosses another question, and is for nobody.
  mutating func take(_ answer: ChallengeAnswer, to number: Int) -> Bool {
    guard let question = state.question, state.waits(for: number) else { return false }
    state.question = nil
    state.answers.append(AnsweredChallenge(challenge: question, answer: answer))
    repeated.append(question)
    return true
  }

  // MARK: Ending

  func verdict(on outcome: TransferOutcome, at time: Timestamp, jitter: Double) -> RetryPolicy.Next {
    guard state.cancellation == nil else { return .end }
    let configuration = session.configuration
    let policy = RetryPolicy(
      configuration: configuration.retry,
      timeoutIntervalForResource: configuration.timeoutIntervalForResource)
    let attempt = RetryPolicy.Attempt(
      error: outcome.error, status: outcome.response?.status,
      retryAfter: outcome.response?.headers.single("Retry-After"), number: state.attempts,
      failures: state.failures)
    return policy.next(after: attempt, firstStart: state.startedAt ?? time, now: time, jitter: jitter)
  }

  /// The attempt got so far; how many have failed since one got further than those before it.
  mutating func noteProgress(of outcome: TransferOutcome) {
    let kept = outcome.partial?.download?.partial.offset
    let offset = kept ?? (outcome.partial == nil ? 0 : outcome.progress.countOfBytesSent)
    state.failures = offset > state.furthest ? 1 : state.failures + 1
    state.furthest = max(offset, state.furthest)
  }

  /// The next step is so many seconds away.
  mutating func wait(_ seconds: Double, at now: Now) {
    (state.retryAt, state.retryDelay) = (now.wall.adding(seconds: seconds), seconds)
    notBefore = now.uptime.advanced(by: .seconds(seconds))
  }

  /// How a task ends under which so many workers have died.
  func deadly(_ deaths: Int, at time: Timestamp) -> TransferOutcome {
    var outcome = task.outcome(.unknown, "", at: time)
    outcome.error = TransferError(
      .attemptLimitReached, "the worker crashed \(deaths) times while it carried the task out",
      failingURL: task.currentRequest.url)
    outcome.partial = state.partial
    outcome.error?.resumeDataAvailable = state.partial != nil
    return outcome
  }

  /// No other attempt may begin, and its time is not over: it ends then, in these words.
  static func timedOut(_ last: TransferOutcome) -> TransferOutcome {
    var outcome = last
    var error = TransferError(
      .timedOut, "timeoutIntervalForResource has passed", failingURL: outcome.currentRequest.url,
      underlying: outcome.error?.underlying)
    error.resumeDataAvailable = outcome.partial != nil
    (outcome.error, outcome.body) = (error, nil)
    return outcome
  }

  /// How a task ends that was cancelled while nobody carried it out.
  func cancelled(at time: Timestamp) -> TransferOutcome {
    var outcome = task.outcome(.cancelled, "cancelled", at: time)
    if state.cancellation == .keepingPartial, let partial = state.partial {
      outcome.partial = partial
      outcome.error?.resumeDataAvailable = true
    }
    return outcome
  }

  /// Its process ended while a request was under way that is not to be sent twice unseen.
  func lost(at time: Timestamp) -> TransferOutcome {
    let method = task.currentRequest.method
    var outcome = task.outcome(
      .networkConnectionLost,
      "the worker ended while the request was under way; a \(method) is not sent again unseen", at: time)
    outcome.partial = state.partial
    return outcome
  }
}

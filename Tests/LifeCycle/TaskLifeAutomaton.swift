package import TransferModel

/// The life of a task as its delegate observes it. This automaton accepts the task's events one by one, and refuses each event that
/// URLSession would not deliver (Apple: NSURLSession.h, and "Life Cycle of a URL Session with Custom Delegates").
///
/// `decision.answerWasRejected` may come anywhere after the first resume.
///
/// An unfinished life is a prefix of a word, and `isOver` reports a complete word. The following regular expressions omit `state`
/// (didChangeState) and progress, which may come anywhere between the first event and the end:
///
///     data, upload   didCreate delayed? (request | wait)* (response+ caching?)? end
///                    didCreate delayed? (request | wait)* response+ didBecomeDownloadTask
///     download       didCreate delayed? (request | wait)* didResumeAtOffset? (didFinishDownloading? end)
///     request        challenge | redirection | newBodyStream | didReceiveInformationalResponse
///     wait           isWaitingForConnectivity
///     end            didFinishCollectingMetrics didComplete
///
/// A multipart response (x-mixed-replace) is reported once for each part. Three things restart the row:
///
/// - Another attempt, in background sessions and of a task with retries.
/// - In background sessions, a new worker, which reports the offset at which its downloads resume.
/// - In all sessions that are not ephemeral, a suspension, because a suspended task survives its service.
///
/// The states, and the phases of a running task:
///
///     suspended → running | canceling          canceling → (the end, as NSURLErrorCancelled)
///     running   → suspended | canceling | another phase
///
///     | from \ to            | queued | waitingForConnectivity | waitingForDecision | waitingToRetry | transferring |
///     |----------------------|--------|------------------------|--------------------|----------------|--------------|
///     | (the first resume)   | yes    |                        |                    |                |              |
///     | (a later resume)     | (1)    |                        | (2)                | (3)            | yes          |
///     | queued               |        | yes                    | yes                | (3)            | yes          |
///     | waitingForConnectivity| background |                   | yes                | (3)            | yes          |
///     | waitingForDecision   | yes    |                        |                    | (3)            | yes          |
///     | waitingToRetry       | background | yes                | yes                |                | yes          |
///     | transferring         | background | yes, no response yet | yes              | (3)            |              |
///
///     (1) if no request has begun   (2) if its decision is still open
///     (3) in background sessions, and of a task with retries until its response is reported
///
/// For a download that replaced a data task, every resume is a later one.
///
/// The events in each phase of a running task:
///
///     waitingForConnectivity   isWaitingForConnectivity: once, and never in background sessions
///     waitingForDecision       the decision, as the first event; then nothing until it is answered, has expired, or is withdrawn
///     queued                   willBeginDelayedRequest; a response (and its caching) that was held during a decision
///     transferring             everything else that needs no answer
///
/// A suspended or canceling task has no phase, and may still report earlier activity ("a task may signal other work before it acknowledges
/// the cancelation"). Its open decision may be settled without an event. A canceling task requests no decision.
package struct TaskLifeAutomaton: Sendable, Hashable {
  /// The progress of the task, apart from its state.
  private enum Step: UInt8, Sendable, Comparable {
    case unborn
    /// The task was never resumed.
    case created
    case asking
    /// A response or the resume offset of a download was reported.
    case answered
    /// The caching of the response was reported.
    case cached
    /// didFinishDownloading was reported.
    case delivered

    static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
  }
  private enum Question: UInt8, Sendable {
    case none
    /// The phase was reported, and the decision must follow.
    case announced
    case waits
    /// The task was suspended or cancelled during the decision, or requested it while suspended. Events do not show whether the decision is
    /// still open.
    case mayWait
  }

  private let circumstances: TaskTraits
  private var step = Step.unborn
  private var state = TaskState.suspended
  private var phase: TaskPhase?
  private var question = Question.none
  /// The call of the last decision.
  private var lastQuestion: DelegateCall?
  /// Whether the start of a request is known.
  private var hasBegun = false
  /// Whether a decision has just been made, so that held events may come while the task is queued.
  private var wasHeld = false
  /// Whether the service may have ended during a suspension, so that the request may start again.
  private var mayBeginAnew = false
  private var hasToldWaiting = false
  private var hasToldDelay = false
  private var hasToldResponse = false
  private var hasMetrics = false
  /// Whether the task has emitted its last event.
  package private(set) var isOver = false

  package init(_ circumstances: TaskTraits) { self.circumstances = circumstances }

  /// The last reported state; `completed` once the life is over.
  package var currentState: TaskState { isOver ? .completed : state }

  private var wasResumed: Bool { step > .created }

  /// Accepts the task's next event. A violation leaves the automaton unchanged.
  package mutating func accept(_ word: TaskSymbol) throws(Violation) {
    var next = self
    do throws(TaskRule) { try next.take(word) } catch { throw Violation(rule: error, word: word) }
    self = next
  }

  private mutating func take(_ word: TaskSymbol) throws(TaskRule) {
    if isOver { throw .silentAfterItsEnd }
    if case .created(let kind) = word { return try beBorn(kind) }
    if step == .unborn { throw .createdFirst }
    if hasMetrics {
      guard case .completed(let end) = word else { throw .metricsBeforeTheEnd }
      return try complete(end)
    }
    if step == .delivered, word != .metrics { throw .metricsBehindTheFile }
    if question == .announced {
      guard case .call(_, asks: true) = word else { throw .phaseOfAQuestion }
    }
    switch word {
    case .created: break
    case .state(let state, let phase): try change(to: state, phase)
    case .call(let call, let asks): try hear(call, asks: asks)
    case .informational: try hearBeforeResponse()
    case .answerRejected: if !wasResumed { throw .silentUntilResumed }
    case .waitsForConnectivity: try wait()
    case .resumedAtOffset: try goOn()
    case .becameDownload: try becomeDownload()
    case .progress(let call): try count(call)
    case .finishedDownloading: try deliver()
    case .metrics:
      guard wasResumed || state == .canceling else { throw .silentUntilResumed }
      hasMetrics = true
    case .completed: throw .metricsBeforeTheEnd
    }
  }

  private mutating func beBorn(_ kind: TaskKind) throws(TaskRule) {
    guard step == .unborn else { throw .createdOnce }
    guard kind == circumstances.kind else { throw .ofItsKind }
    // The data task was already resumed, and has reported the response.
    step = circumstances.replacesDataTask ? .answered : .created
    hasBegun = circumstances.replacesDataTask
  }
}

// MARK: States and phases

extension TaskLifeAutomaton {
  private mutating func change(to next: TaskState, _ nextPhase: TaskPhase?) throws(TaskRule) {
    if next == .completed { throw .endHasNoState }
    guard (nextPhase != nil) == (next == .running) else { throw .phaseOfRunning }
    if nextPhase == .waitingToRetry, !mayRetry { throw .retriesBeforeTheResponse }
    if nextPhase == .waitingForConnectivity, !circumstances.waitsForConnectivity { throw .waitsWhereItMay }
    switch (state, next) {
    case (.suspended, .running): if let nextPhase { try resume(nextPhase) }
    case (.running, .running): if let phase, let nextPhase { try move(from: phase, to: nextPhase) }
    case (.running, .suspended):
      if question == .waits { question = .mayWait }
    case (.running, .canceling), (.suspended, .canceling):
      if question == .waits { question = .mayWait }
    default: throw .stateFollows
    }
    (state, phase) = (next, nextPhase)
    if step == .created, next == .running { step = .asking }
    if nextPhase == .transferring { (hasBegun, wasHeld) = (true, false) }
  }

  /// Whether another attempt may follow now.
  private var mayRetry: Bool {
    circumstances.mayRetry
      && (circumstances.isInBackground || !hasToldResponse && !circumstances.replacesDataTask)
  }

  private mutating func resume(_ next: TaskPhase) throws(TaskRule) {
    guard wasResumed else {
      guard next == .queued else { throw .firstPhase }
      return
    }
    mayBeginAnew = circumstances.outlivesTheService
    switch next {
    case .queued:
      guard !hasBegun else { throw .phaseFollows }
      // The decision ended with the service.
      if mayBeginAnew, question == .mayWait, lastQuestion == .delayedRequest { hasToldDelay = false }
      question = .none
    case .waitingForDecision:
      guard question == .mayWait else { throw .phaseFollows }
      question = .waits
    case .waitingForConnectivity: throw .phaseFollows
    case .waitingToRetry, .transferring: question = .none
    }
  }

  private mutating func move(from old: TaskPhase, to new: TaskPhase) throws(TaskRule) {
    guard old != new else { throw .stateFollows }
    let isInBackground = circumstances.isInBackground
    switch (old, new) {
    case (_, .transferring), (_, .waitingToRetry): break
    case (.waitingForDecision, .queued):
      wasHeld = true
      // The decision may have ended with the service.
      if circumstances.mayRetry, !hasBegun, lastQuestion == .delayedRequest { hasToldDelay = false }
    case (_, .queued): guard isInBackground else { throw .phaseFollows }
    case (.waitingForDecision, .waitingForConnectivity): throw .phaseFollows
    case (_, .waitingForConnectivity):
      guard step < .answered || mayBeginAnew || isInBackground else { throw .phaseFollows }
    case (_, .waitingForDecision): break
    }
    question = new == .waitingForDecision ? .announced : .none
    // Another attempt will follow.
    if isInBackground && new == .queued || new == .waitingToRetry, step > .asking { step = .asking }
  }
}

// MARK: Calls

extension TaskLifeAutomaton {
  private mutating func hear(_ call: DelegateCall, asks: Bool) throws(TaskRule) {
    try checkOrder(of: call)
    guard asks == circumstances.asked.contains(call), asks || !call.alwaysAsks else {
      throw .asksWhoWantsToBeAsked
    }
    guard wasResumed else { throw .silentUntilResumed }
    if asks {
      try ask(call)
    } else if call == .delayedRequest {
      guard state != .running || phase == .queued else { throw .toldUnderWay }
    } else {
      try checkUnderWay(mayBeHeld: call == .response || call == .caching)
    }
    switch call {
    case .delayedRequest: hasToldDelay = true
    case .response: (step, hasToldResponse, mayBeginAnew) = (.answered, true, false)
    case .caching: step = .cached
    default: break
    }
  }

  private mutating func ask(_ call: DelegateCall) throws(TaskRule) {
    if state == .canceling { throw .cancelledAsksNothing }
    lastQuestion = call
    guard state == .running else {
      question = .mayWait
      return
    }
    switch question {
    case .announced: question = .waits
    case .waits: throw .oneQuestionAtATime
    case .none, .mayWait: throw .asksInItsPhase
    }
  }

  private mutating func checkOrder(of call: DelegateCall) throws(TaskRule) {
    let (kind, isInBackground) = (circumstances.kind, circumstances.isInBackground)
    switch call {
    case .sessionChallenge, .taskChallenge, .newBodyStream: try belongToRequest()
    case .redirection:
      if isInBackground { throw .backgroundIsNotTold }
      try belongToRequest()
    case .delayedRequest: guard !hasToldDelay, !hasBegun else { throw .delayedOnce }
    case .response:
      if kind == .download { throw .ofItsKind }
      if kind == .upload, isInBackground { throw .backgroundIsNotTold }
      guard step <= .answered || mayBeginAnew else { throw .cachingBehindTheResponse }
    case .caching:
      if kind == .download { throw .ofItsKind }
      if isInBackground { throw .backgroundIsNotTold }
      guard step == .answered else { throw .cachingBehindTheResponse }
    }
  }

  /// Checks that the effects of a request come before the response, or belong to another attempt.
  private mutating func belongToRequest() throws(TaskRule) {
    guard step >= .answered else { return }
    guard mayBeginAnew else { throw .beforeTheResponse }
    (step, mayBeginAnew) = (.asking, false)
  }

  /// - Parameter mayBeHeld: whether the call may have been held during a decision.
  private func checkUnderWay(mayBeHeld: Bool = false) throws(TaskRule) {
    guard wasResumed else { throw .silentUntilResumed }
    guard state == .running else { return }
    if question == .waits { throw .oneQuestionAtATime }
    guard phase == .transferring || mayBeHeld && wasHeld && phase == .queued else { throw .toldUnderWay }
  }

  private mutating func hearBeforeResponse() throws(TaskRule) {
    try belongToRequest()
    try checkUnderWay()
  }

  private mutating func wait() throws(TaskRule) {
    if circumstances.isInBackground { throw .backgroundIsNotTold }
    guard circumstances.waitsForConnectivity else { throw .waitsWhereItMay }
    guard wasResumed else { throw .silentUntilResumed }
    try belongToRequest()
    guard !hasToldWaiting, state != .running || phase == .waitingForConnectivity else {
      throw .waitingIsToldOnce
    }
    hasToldWaiting = true
  }

  private mutating func goOn() throws(TaskRule) {
    guard circumstances.kind == .download else { throw .ofItsKind }
    guard step < .answered || mayBeginAnew || circumstances.isInBackground else {
      throw .resumedOnce
    }
    mayBeginAnew = false
    try checkUnderWay()
    // A new worker restarts the attempts, without an event.
    if !circumstances.isInBackground { step = .answered }
  }

  private mutating func becomeDownload() throws(TaskRule) {
    guard circumstances.kind != .download else { throw .ofItsKind }
    let isAnswered = state == .running ? question == .none : state == .suspended
    guard step == .answered, lastQuestion == .response, isAnswered else { throw .becomesDownloadWhenAsked }
    isOver = true
  }

  private mutating func count(_ call: ProgressEvent) throws(TaskRule) {
    guard (call == .wroteData) == (circumstances.kind == .download) || call == .sentBodyData else {
      throw .ofItsKind
    }
    guard wasResumed, hasBegun || lastQuestion != nil || state != .running else { throw .progressUnderWay }
    guard call == .receivedData, !isNotToldItsResponse else { return }
    let isHeld = question == .waits && lastQuestion == .response
    guard step >= .answered, !isHeld else { throw .dataBehindTheResponse }
  }
}

// MARK: End

extension TaskLifeAutomaton {
  private mutating func deliver() throws(TaskRule) {
    guard circumstances.kind == .download else { throw .ofItsKind }
    guard wasResumed else { throw .silentUntilResumed }
    if state == .canceling { throw .cancelledIsCanceling }
    if question == .waits { throw .noSuccessWhileAsked }
    step = .delivered
  }

  private mutating func complete(_ end: TaskEnd) throws(TaskRule) {
    guard (end.result == .cancelled) == (state == .canceling) else { throw .cancelledIsCanceling }
    guard end.hasBody ? circumstances.mayHaveBody(end.result) : end.result != .success else {
      throw .bodyOfSuccess
    }
    switch end.result {
    case .cancelled, .failure: break
    case .success:
      if question == .waits { throw .noSuccessWhileAsked }
      guard end.hasResponse, hasToldResponse || isNotToldItsResponse else { throw .successHasAResponse }
    }
    let hasFile = circumstances.kind == .download && end.result == .success
    guard hasFile == (step == .delivered) else { throw .fileOfSuccess }
    isOver = true
  }

  private var isNotToldItsResponse: Bool {
    circumstances.kind == .download || circumstances.kind == .upload && circumstances.isInBackground
  }
}

package import TransferModel

/// The life of one task as its delegate hears of it: an automaton that takes the task's events one by one, and refuses what URLSession
/// would not tell (Apple: NSURLSession.h, and "Life Cycle of a URL Session with Custom Delegates").
///
/// A life that goes on is a prefix of a word, and `isOver` says that it is a whole one. In the notation of regular expressions, with
/// `state` (didChangeState) and progress left out, which may come anywhere between the first event and the end:
///
///     data, upload   didCreate delayed? (request | wait)* (response+ caching?)? end
///                    didCreate delayed? (request | wait)* response+ didBecomeDownloadTask
///     download       didCreate delayed? (request | wait)* didResumeAtOffset? (didFinishDownloading? end)
///     request        challenge | redirection | newBodyStream | didReceiveInformationalResponse
///     wait           isWaitingForConnectivity
///     end            didFinishCollectingMetrics didComplete
///
/// A response comes more than once where it is multipart (x-mixed-replace). In background sessions another attempt begins the row
/// anew, and a worker that makes room for another leaves its downloads to that one, which tells where they go on; everywhere but in
/// ephemeral sessions a task may do so behind a suspension, as a suspended task outlives its service.
///
/// The states, and the phases of a running task:
///
///     suspended → running | canceling          canceling → (the end, as NSURLErrorCancelled)
///     running   → suspended | canceling | another phase
///
///     | from \ to            | queued | waitingForConnectivity | waitingForDecision | waitingToRetry | transferring |
///     |----------------------|--------|------------------------|--------------------|----------------|--------------|
///     | (the first resume)   | yes    |                        |                    |                |              |
///     | (a later resume)     | (1)    |                        | (2)                | background     | yes          |
///     | queued               |        | yes                    | yes                | background     | yes          |
///     | waitingForConnectivity| background |                   | yes                | background     | yes          |
///     | waitingForDecision   | yes    |                        |                    | background     | yes          |
///     | waitingToRetry       | background | yes                | yes                |                | yes          |
///     | transferring         | background | yes, no response yet | yes              | background     |              |
///
///     (1) where no request has begun   (2) where its question still waits. A download that a data task became was resumed as that.
///
/// What is told in which phase of a running task:
///
///     waitingForConnectivity   isWaitingForConnectivity: once, and never in background sessions
///     waitingForDecision       the question, first of all; then nothing until it is answered, has expired, or is withdrawn
///     queued                   willBeginDelayedRequest; a response (and its caching) that was held while the delegate decided
///     transferring             everything else that needs no answer
///
/// A suspended or canceling task has no phase. It may hear of what was under way when that was asked of it ("a task may signal other
/// work before it acknowledges the cancelation"), and a question that waits may then be settled unseen. A canceling one asks nothing.
package struct TaskLife: Sendable, Hashable {
  /// How far the task has come, apart from its state.
  private enum Step: UInt8, Sendable, Comparable {
    case unborn
    /// It was never resumed.
    case created
    case asking
    /// A response was told, or where a download goes on.
    case answered
    /// That the response is to be cached was told.
    case cached
    /// didFinishDownloading was told.
    case delivered

    static func < (left: Self, right: Self) -> Bool { left.rawValue < right.rawValue }
  }
  private enum Question: UInt8, Sendable {
    case none
    /// The phase was told; the question has to come.
    case announced
    case waits
    /// It waited when the task was suspended or cancelled, or came after it was suspended: whether it still does nobody can see.
    case mayWait
  }

  private let circumstances: TaskCircumstances
  private var step = Step.unborn
  private var state = TaskState.suspended
  private var phase: TaskPhase?
  private var question = Question.none
  /// What was asked last.
  private var lastQuestion: TaskCall?
  /// A request has begun, as far as that was told.
  private var hasBegun = false
  /// The delegate was asked: what was held meanwhile may be told though the task is queued.
  private var wasHeld = false
  /// It was suspended, and its service may have ended meanwhile: then it is asked for from the beginning.
  private var mayBeginAnew = false
  private var hasToldWaiting = false
  private var hasToldDelay = false
  private var hasToldResponse = false
  private var hasMetrics = false
  /// The task has told its last event.
  package private(set) var isOver = false

  package init(_ circumstances: TaskCircumstances) { self.circumstances = circumstances }

  /// The state that it has told last; `completed` once it is over.
  package var currentState: TaskState { isOver ? .completed : state }

  private var wasResumed: Bool { step > .created }

  /// Takes the task's next event. A violation leaves all as it was.
  package mutating func accept(_ word: TaskWord) throws(Violation) {
    var next = self
    do throws(TaskRule) { try next.take(word) } catch { throw Violation(rule: error, word: word) }
    self = next
  }

  private mutating func take(_ word: TaskWord) throws(TaskRule) {
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
    // It was resumed, and answered, as a data task.
    step = circumstances.goesOnForDataTask ? .answered : .created
    hasBegun = circumstances.goesOnForDataTask
  }
}

// MARK: States and phases

extension TaskLife {
  private mutating func change(to next: TaskState, _ nextPhase: TaskPhase?) throws(TaskRule) {
    if next == .completed { throw .endHasNoState }
    guard (nextPhase != nil) == (next == .running) else { throw .phaseOfRunning }
    if nextPhase == .waitingToRetry, !circumstances.isInBackground { throw .retriesInBackground }
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

  private mutating func resume(_ next: TaskPhase) throws(TaskRule) {
    guard wasResumed else {
      guard next == .queued else { throw .firstPhase }
      return
    }
    mayBeginAnew = circumstances.outlivesTheService
    switch next {
    case .queued:
      guard !hasBegun else { throw .phaseFollows }
      // Its question went with the service.
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
    case (.waitingForDecision, .queued): wasHeld = true
    case (_, .queued): guard isInBackground else { throw .phaseFollows }
    case (.waitingForDecision, .waitingForConnectivity): throw .phaseFollows
    case (_, .waitingForConnectivity):
      guard step < .answered || mayBeginAnew || isInBackground else { throw .phaseFollows }
    case (_, .waitingForDecision): break
    }
    question = new == .waitingForDecision ? .announced : .none
    // Another attempt is to follow.
    if isInBackground, new == .queued || new == .waitingToRetry, step > .asking { step = .asking }
  }
}

// MARK: Calls

extension TaskLife {
  private mutating func hear(_ call: TaskCall, asks: Bool) throws(TaskRule) {
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

  private mutating func ask(_ call: TaskCall) throws(TaskRule) {
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

  private mutating func checkOrder(of call: TaskCall) throws(TaskRule) {
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

  /// What a request leads to comes before the response, or is of another attempt.
  private mutating func belongToRequest() throws(TaskRule) {
    guard step >= .answered else { return }
    guard mayBeginAnew else { throw .beforeTheResponse }
    (step, mayBeginAnew) = (.asking, false)
  }

  /// - Parameter mayBeHeld: it is told of what was at hand when the delegate was asked.
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
    // A worker that takes another's place begins its attempts anew, and nobody is told.
    if !circumstances.isInBackground { step = .answered }
  }

  private mutating func becomeDownload() throws(TaskRule) {
    guard circumstances.kind != .download else { throw .ofItsKind }
    let isAnswered = state == .running ? question == .none : state == .suspended
    guard step == .answered, lastQuestion == .response, isAnswered else { throw .becomesDownloadWhenAsked }
    isOver = true
  }

  private mutating func count(_ call: ProgressCall) throws(TaskRule) {
    guard (call == .wroteData) == (circumstances.kind == .download) || call == .sentBodyData else {
      throw .ofItsKind
    }
    guard wasResumed, hasBegun || lastQuestion != nil || state != .running else { throw .progressUnderWay }
    guard call == .receivedData, !isNotToldItsResponse else { return }
    let isHeld = question == .waits && lastQuestion == .response
    guard step >= .answered, !isHeld else { throw .dataBehindTheResponse }
  }
}

// MARK: The end

extension TaskLife {
  private mutating func deliver() throws(TaskRule) {
    guard circumstances.kind == .download else { throw .ofItsKind }
    guard wasResumed else { throw .silentUntilResumed }
    if state == .canceling { throw .cancelledIsCanceling }
    if question == .waits { throw .noSuccessWhileAsked }
    step = .delivered
  }

  private mutating func complete(_ end: TaskEnd) throws(TaskRule) {
    guard (end.result == .cancelled) == (state == .canceling) else { throw .cancelledIsCanceling }
    guard end.hasBody == (end.result == .success) else { throw .bodyOfSuccess }
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

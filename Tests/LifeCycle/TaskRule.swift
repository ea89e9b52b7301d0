/// What holds of the events of one task. Each raw value is the rule as a sentence.
package enum TaskRule: String, Error, Sendable, CaseIterable {
  // Birth and death
  case createdFirst = "didCreate is the first event of a task"
  case createdOnce = "didCreate comes once"
  case silentAfterItsEnd = "nothing follows didComplete or didBecomeDownloadTask"
  case silentUntilResumed = "a task that was never resumed hears of its state and its cancellation alone"
  case metricsBeforeTheEnd = "didFinishCollectingMetrics comes once, right before didComplete"
  case metricsBehindTheFile = "right behind didFinishDownloading comes didFinishCollectingMetrics"

  // State
  case stateFollows =
    "a state is one that TaskLifecycle goes to from the one before, and is told when it changes"
  case endHasNoState = "didComplete tells that a task is completed, and no state event does"
  case phaseOfRunning = "a running task has a phase, and no other has one"
  case phaseFollows = "a phase follows from the one before"
  case firstPhase = "a task that is resumed for the first time is queued"
  case retriesInBackground = "only in background sessions a task waits to be tried again"
  case waitsWhereItMay = "only in sessions that wait for connectivity a task does"

  // Questions
  case asksInItsPhase = "a running task is waitingForDecision right before it asks"
  case phaseOfAQuestion = "right behind the phase waitingForDecision comes the question"
  case cancelledAsksNothing = "a task that is being cancelled asks nothing: it ends, whatever anybody says"
  case oneQuestionAtATime = "while a question waits, only states and an end come"
  case asksWhoWantsToBeAsked = "a call asks where the delegate wants to be asked, and nowhere else"

  // What the origin and the network cause
  case toldUnderWay = "what the origin causes is told while the task is transferring"
  case ofItsKind = "a call is one of the task's kind"
  case beforeTheResponse = "what a request leads to comes before the response"
  case delayedOnce = "willBeginDelayedRequest comes once, before the first request"
  case waitingIsToldOnce = "isWaitingForConnectivity comes once, while the task waits for connectivity"
  case backgroundIsNotTold =
    "background sessions hear of no waiting for connectivity, no redirection, no caching and no upload's response"
  case resumedOnce =
    "outside of background sessions, didResumeAtOffset comes once, before anything is written"
  case cachingBehindTheResponse =
    "willCacheResponse comes once, behind the response, and no response behind it"
  case becomesDownloadWhenAsked =
    "a data task becomes a download as the answer to the question about its response"
  case progressUnderWay = "bytes are counted between the first request and the end"
  case dataBehindTheResponse = "data of a body comes behind the response that it belongs to"

  // The end
  case fileOfSuccess =
    "a download that succeeds tells didFinishDownloading, and no other end has that before it"
  case bodyOfSuccess = "the end tells of a body where the task succeeded, and nowhere else"
  case successHasAResponse = "a task that succeeds has told its response, unless nobody is told"
  case noSuccessWhileAsked = "no task succeeds while a question waits"
  case cancelledIsCanceling =
    "the error of a task that was canceling is NSURLErrorCancelled, and no other task has that"
}

extension TaskLife {
  /// An event that no task has at that place.
  package struct Violation: Error, Sendable, Equatable, CustomStringConvertible {
    package let rule: TaskRule
    package let word: TaskWord

    package var description: String { "\(word): \(rule.rawValue)" }
  }
}

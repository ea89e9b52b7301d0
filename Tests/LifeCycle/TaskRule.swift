/// The rules for the events of a task. Each raw value is the rule as a sentence.
package enum TaskRule: String, Error, Sendable, CaseIterable {
  // Start and end
  case createdFirst = "didCreate is the first event of a task"
  case createdOnce = "didCreate comes once"
  case silentAfterItsEnd = "nothing follows didComplete or didBecomeDownloadTask"
  case silentUntilResumed = "a task that was never resumed has only state events and its cancellation"
  case metricsBeforeTheEnd = "didFinishCollectingMetrics comes once, right before didComplete"
  case metricsBehindTheFile = "didFinishCollectingMetrics follows didFinishDownloading directly"

  // State
  case stateFollows =
    "a state event reports a change, and TaskLifecycle permits the transition"
  case endHasNoState = "only didComplete reports the state completed"
  case phaseOfRunning = "exactly the running tasks have a phase"
  case phaseFollows = "the transition between two phases is permitted"
  case firstPhase = "the first phase of a resumed task is queued"
  case retriesBeforeTheResponse =
    "waitingToRetry occurs only in tasks with retries, and outside background sessions before the response"
  case waitsWhereItMay = "waitingForConnectivity occurs only in sessions that wait for connectivity"

  // Decisions
  case asksInItsPhase = "a running task enters waitingForDecision directly before its decision"
  case phaseOfAQuestion = "a decision follows the phase waitingForDecision directly"
  case cancelledAsksNothing = "a canceling task has no decisions"
  case oneQuestionAtATime = "while a decision is pending, only state events and the end occur"
  case asksWhoWantsToBeAsked = "a delegate call is a decision exactly if the delegate asks for it"

  // Effects of the origin and the network
  case toldUnderWay = "events that the origin causes occur only in the phase transferring"
  case ofItsKind = "a delegate call fits the task's kind"
  case beforeTheResponse = "redirections, challenges and informational responses come before the response"
  case delayedOnce = "willBeginDelayedRequest comes once, before the first request"
  case waitingIsToldOnce = "isWaitingForConnectivity comes once, while the task waits for connectivity"
  case backgroundIsNotTold =
    "background sessions have no events for connectivity, redirections, caching and responses to uploads"
  case resumedOnce =
    "outside of background sessions, didResumeAtOffset comes at most once, before all written data"
  case cachingBehindTheResponse =
    "willCacheResponse comes at most once, after the last response"
  case becomesDownloadWhenAsked =
    "a data task becomes a download only as the answer to its response decision"
  case progressUnderWay = "progress events occur between the first request and the end"
  case dataBehindTheResponse = "body data follows its response"

  // The end
  case fileOfSuccess =
    "every successful download has didFinishDownloading before its end, and no other task has"
  case bodyOfSuccess =
    "didComplete has a body if the task succeeded, and otherwise at most that of a refused status"
  case successHasAResponse = "a successful task has a response event, unless its session reports none"
  case noSuccessWhileAsked = "no task succeeds while a decision is pending"
  case cancelledIsCanceling =
    "exactly the canceling tasks end with NSURLErrorCancelled"
}

extension TaskLifeAutomaton {
  /// An event that breaks a rule.
  package struct Violation: Error, Sendable, Equatable, CustomStringConvertible {
    package let rule: TaskRule
    package let word: TaskSymbol

    package var description: String { "\(word): \(rule.rawValue)" }
  }
}

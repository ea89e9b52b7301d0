/// The types of events, named after the methods of URLSession's delegates.
package enum EventType: String, Sendable, CaseIterable {
  case taskDidCreate = "task.didCreate"
  case taskDidChangeState = "task.didChangeState"
  case sessionDidReceiveChallenge = "session.didReceiveChallenge"
  case taskDidReceiveChallenge = "task.didReceiveChallenge"
  case taskWillPerformHTTPRedirection = "task.willPerformHTTPRedirection"
  case taskNeedNewBodyStream = "task.needNewBodyStream"
  case taskDidSendBodyData = "task.didSendBodyData"
  case taskDidReceiveInformationalResponse = "task.didReceiveInformationalResponse"
  case taskIsWaitingForConnectivity = "task.isWaitingForConnectivity"
  case taskWillBeginDelayedRequest = "task.willBeginDelayedRequest"
  case dataTaskDidReceiveResponse = "dataTask.didReceiveResponse"
  case dataTaskDidReceiveData = "dataTask.didReceiveData"
  case dataTaskDidBecomeDownloadTask = "dataTask.didBecomeDownloadTask"
  case dataTaskWillCacheResponse = "dataTask.willCacheResponse"
  case downloadTaskDidResumeAtOffset = "downloadTask.didResumeAtOffset"
  case downloadTaskDidWriteData = "downloadTask.didWriteData"
  case downloadTaskDidFinishDownloading = "downloadTask.didFinishDownloading"
  case taskDidFinishCollectingMetrics = "task.didFinishCollectingMetrics"
  case taskDidComplete = "task.didComplete"
  /// A message that wakes a client. It is not an event of streams.
  case sessionHandleEvents = "session.handleEvents"
  /// The end of a closed group of tasks. The event belongs to the tenant, not to a session.
  case groupDidComplete = "group.didComplete"
  case sessionDidFinishEvents = "session.didFinishEvents"
  case sessionDidBecomeInvalid = "session.didBecomeInvalid"
  case eventsDidReset = "events.didReset"
  /// A webhook's answer was not applied: it is invalid, or came after the decision had ended.
  case decisionAnswerWasRejected = "decision.answerWasRejected"
  /// An event of the tenant.
  case webhookEndpointDidDisable = "webhook.endpointDidDisable"
  /// A message that tests an endpoint. It is not an event of streams.
  case webhookTest = "webhook.test"

  /// Whether the event is progress, which is coalesced, has no sequence number and is never stored.
  package var isProgress: Bool {
    switch self {
    case .taskDidSendBodyData, .dataTaskDidReceiveData, .downloadTaskDidWriteData: true
    default: false
    }
  }

  /// Whether the event concerns a tenant rather than one of its sessions.
  package var isOfTenant: Bool { self == .webhookEndpointDidDisable || self == .groupDidComplete }

  /// Whether webhooks can select the type.
  package var isForWebhooks: Bool { !isProgress && self != .eventsDidReset && self != .webhookTest }

  /// Whether a task's completion handler receives the call instead of the session's delegate.
  package var isReplacedByCompletionHandler: Bool {
    switch self {
    case .dataTaskDidReceiveResponse, .dataTaskWillCacheResponse, .downloadTaskDidFinishDownloading,
      .taskDidComplete:
      true
    default: false
    }
  }
}

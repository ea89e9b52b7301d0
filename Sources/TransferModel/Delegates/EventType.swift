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
  case sessionDidFinishEvents = "session.didFinishEvents"
  case sessionDidBecomeInvalid = "session.didBecomeInvalid"
  case eventsDidReset = "events.didReset"

  /// Whether the event is progress, which is coalesced, has no sequence number and is never stored.
  package var isProgress: Bool {
    switch self {
    case .taskDidSendBodyData, .dataTaskDidReceiveData, .downloadTaskDidWriteData: true
    default: false
    }
  }

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

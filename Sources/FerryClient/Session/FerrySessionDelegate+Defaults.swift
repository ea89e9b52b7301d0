public import FoundationEssentials

// A task's own delegate that lacks a method leaves the call to the session's delegate. Without both, the default applies.

extension FerrySessionTaskDelegate {
  /// The session's delegate, if this object is the task's own.
  private func next(_ session: FerrySession, _ task: FerrySessionTask) -> (any FerrySessionTaskDelegate)? {
    guard task.delegate === self, let next = session.delegate, next !== self else { return nil }
    return next as? any FerrySessionTaskDelegate
  }

  /// Does nothing.
  public func urlSession(_ session: FerrySession, didCreateTask task: FerrySessionTask) {
    next(session, task)?.urlSession(session, didCreateTask: task)
  }
  /// Sends the request.
  public func urlSession(
    _ session: FerrySession, task: FerrySessionTask, willBeginDelayedRequest request: FerryRequest,
    completionHandler: @escaping @Sendable (FerrySession.DelayedRequestDisposition, FerryRequest?) -> Void
  ) {
    guard let next = next(session, task) else { return completionHandler(.continueLoading, nil) }
    next.urlSession(
      session, task: task, willBeginDelayedRequest: request, completionHandler: completionHandler)
  }
  /// Does nothing.
  public func urlSession(_ session: FerrySession, taskIsWaitingForConnectivity task: FerrySessionTask) {
    next(session, task)?.urlSession(session, taskIsWaitingForConnectivity: task)
  }
  /// Follows the redirect.
  public func urlSession(
    _ session: FerrySession, task: FerrySessionTask,
    willPerformHTTPRedirection response: HTTPFerryResponse, newRequest request: FerryRequest,
    completionHandler: @escaping @Sendable (FerryRequest?) -> Void
  ) {
    guard let next = next(session, task) else { return completionHandler(request) }
    next.urlSession(
      session, task: task, willPerformHTTPRedirection: response, newRequest: request,
      completionHandler: completionHandler)
  }
  /// Uses the default handling.
  public func urlSession(
    _ session: FerrySession, task: FerrySessionTask, didReceive challenge: FerryAuthenticationChallenge,
    completionHandler: @escaping @Sendable (FerrySession.AuthChallengeDisposition, FerryCredential?) -> Void
  ) {
    guard let next = next(session, task) else { return completionHandler(.performDefaultHandling, nil) }
    next.urlSession(session, task: task, didReceive: challenge, completionHandler: completionHandler)
  }
  /// Has no body, so the task fails.
  public func urlSession(
    _ session: FerrySession, task: FerrySessionTask,
    needNewBodyStream completionHandler: @escaping @Sendable (FerryBodyStream?) -> Void
  ) {
    guard let next = next(session, task) else { return completionHandler(nil) }
    next.urlSession(session, task: task, needNewBodyStream: completionHandler)
  }
  /// Does nothing.
  public func urlSession(
    _ session: FerrySession, task: FerrySessionTask, didSendBodyData bytesSent: Int64,
    totalBytesSent: Int64, totalBytesExpectedToSend: Int64
  ) {
    next(session, task)?.urlSession(
      session, task: task, didSendBodyData: bytesSent, totalBytesSent: totalBytesSent,
      totalBytesExpectedToSend: totalBytesExpectedToSend)
  }
  /// Does nothing.
  public func urlSession(
    _ session: FerrySession, task: FerrySessionTask,
    didReceiveInformationalResponse response: HTTPFerryResponse
  ) {
    next(session, task)?.urlSession(session, task: task, didReceiveInformationalResponse: response)
  }
  /// Does nothing.
  public func urlSession(
    _ session: FerrySession, task: FerrySessionTask, didFinishCollecting metrics: FerrySessionTaskMetrics
  ) { next(session, task)?.urlSession(session, task: task, didFinishCollecting: metrics) }
  /// Does nothing.
  public func urlSession(
    _ session: FerrySession, task: FerrySessionTask, didCompleteWithError error: (any Error)?
  ) { next(session, task)?.urlSession(session, task: task, didCompleteWithError: error) }
}

extension FerrySessionDataDelegate {
  private func next(_ session: FerrySession, _ task: FerrySessionTask) -> (any FerrySessionDataDelegate)? {
    guard task.delegate === self, let next = session.delegate, next !== self else { return nil }
    return next as? any FerrySessionDataDelegate
  }

  /// Allows the response.
  public func urlSession(
    _ session: FerrySession, dataTask: FerrySessionDataTask, didReceive response: FerryResponse,
    completionHandler: @escaping @Sendable (FerrySession.ResponseDisposition) -> Void
  ) {
    guard let next = next(session, dataTask) else { return completionHandler(.allow) }
    next.urlSession(
      session, dataTask: dataTask, didReceive: response, completionHandler: completionHandler)
  }
  /// Does nothing.
  public func urlSession(
    _ session: FerrySession, dataTask: FerrySessionDataTask, didBecome downloadTask: FerrySessionDownloadTask
  ) { next(session, dataTask)?.urlSession(session, dataTask: dataTask, didBecome: downloadTask) }
  /// Does nothing.
  public func urlSession(_ session: FerrySession, dataTask: FerrySessionDataTask, didReceive data: Data) {
    next(session, dataTask)?.urlSession(session, dataTask: dataTask, didReceive: data)
  }
  /// Stores the response.
  public func urlSession(
    _ session: FerrySession, dataTask: FerrySessionDataTask,
    willCacheResponse proposedResponse: CachedFerryResponse,
    completionHandler: @escaping @Sendable (CachedFerryResponse?) -> Void
  ) {
    guard let next = next(session, dataTask) else { return completionHandler(proposedResponse) }
    next.urlSession(
      session, dataTask: dataTask, willCacheResponse: proposedResponse, completionHandler: completionHandler)
  }
}

extension FerrySessionDownloadDelegate {
  private func next(_ session: FerrySession, _ task: FerrySessionTask) -> (any FerrySessionDownloadDelegate)?
  {
    guard task.delegate === self, let next = session.delegate, next !== self else { return nil }
    return next as? any FerrySessionDownloadDelegate
  }

  /// Does nothing.
  public func urlSession(
    _ session: FerrySession, downloadTask: FerrySessionDownloadTask, didWriteData bytesWritten: Int64,
    totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
  ) {
    next(session, downloadTask)?.urlSession(
      session, downloadTask: downloadTask, didWriteData: bytesWritten, totalBytesWritten: totalBytesWritten,
      totalBytesExpectedToWrite: totalBytesExpectedToWrite)
  }
  /// Does nothing.
  public func urlSession(
    _ session: FerrySession, downloadTask: FerrySessionDownloadTask, didResumeAtOffset fileOffset: Int64,
    expectedTotalBytes: Int64
  ) {
    next(session, downloadTask)?.urlSession(
      session, downloadTask: downloadTask, didResumeAtOffset: fileOffset,
      expectedTotalBytes: expectedTotalBytes)
  }
}

public import FoundationEssentials
internal import Synchronization

// A method without an implementation of the program. If the object is the task's own delegate, the session's delegate receives the call.

extension FerrySession {
  /// Calls the session's delegate on its queue, and returns the first answer.
  fileprivate func ask<Answer: Sendable>(
    _ call: @escaping @Sendable (@escaping @Sendable (Answer) -> Void) -> Void
  ) async -> Answer {
    await withCheckedContinuation { continuation in
      let waiting = Mutex<CheckedContinuation<Answer, Never>?>(continuation)
      delegateQueue.addOperation {
        call { answer in waiting.withLock { $0.take() }?.resume(returning: answer) }
      }
    }
  }
}

extension FerrySessionTaskDelegate {
  /// The session's delegate, if this object is the task's own.
  private func next(_ session: FerrySession, _ task: FerrySessionTask) -> (any FerrySessionTaskDelegate)? {
    guard task.delegate === self, let next = session.delegate, next !== self else { return nil }
    return next as? any FerrySessionTaskDelegate
  }

  /// Calls the session's delegate if this object is the task's own.
  public func urlSession(_ session: FerrySession, didCreateTask task: FerrySessionTask) {
    next(session, task)?.urlSession(session, didCreateTask: task)
  }
  /// Calls the async form.
  public func urlSession(
    _ session: FerrySession, task: FerrySessionTask, willBeginDelayedRequest request: FerryRequest,
    completionHandler: @escaping @Sendable (FerrySession.DelayedRequestDisposition, FerryRequest?) -> Void
  ) {
    Task {
      let (disposition, other) = await urlSession(session, task: task, willBeginDelayedRequest: request)
      completionHandler(disposition, other)
    }
  }
  /// Calls the session's delegate if this object is the task's own. Otherwise, the service sends the request.
  public func urlSession(
    _ session: FerrySession, task: FerrySessionTask, willBeginDelayedRequest request: FerryRequest
  ) async -> (FerrySession.DelayedRequestDisposition, FerryRequest?) {
    guard let next = next(session, task) else { return (.continueLoading, nil) }
    return await session.ask { reply in
      next.urlSession(session, task: task, willBeginDelayedRequest: request) { reply(($0, $1)) }
    }
  }
  /// Calls the session's delegate if this object is the task's own.
  public func urlSession(_ session: FerrySession, taskIsWaitingForConnectivity task: FerrySessionTask) {
    next(session, task)?.urlSession(session, taskIsWaitingForConnectivity: task)
  }
  /// Calls the async form.
  public func urlSession(
    _ session: FerrySession, task: FerrySessionTask,
    willPerformHTTPRedirection response: HTTPFerryResponse, newRequest request: FerryRequest,
    completionHandler: @escaping @Sendable (FerryRequest?) -> Void
  ) {
    Task {
      completionHandler(
        await urlSession(session, task: task, willPerformHTTPRedirection: response, newRequest: request))
    }
  }
  /// Calls the session's delegate if this object is the task's own. Otherwise, the service follows the redirect.
  public func urlSession(
    _ session: FerrySession, task: FerrySessionTask,
    willPerformHTTPRedirection response: HTTPFerryResponse, newRequest request: FerryRequest
  ) async -> FerryRequest? {
    guard let next = next(session, task) else { return request }
    return await session.ask { reply in
      next.urlSession(
        session, task: task, willPerformHTTPRedirection: response, newRequest: request,
        completionHandler: reply)
    }
  }
  /// Calls the async form.
  public func urlSession(
    _ session: FerrySession, task: FerrySessionTask, didReceive challenge: FerryAuthenticationChallenge,
    completionHandler: @escaping @Sendable (FerrySession.AuthChallengeDisposition, FerryCredential?) -> Void
  ) {
    Task {
      let (disposition, credential) = await urlSession(session, task: task, didReceive: challenge)
      completionHandler(disposition, credential)
    }
  }
  /// Calls the session's delegate if this object is the task's own. Otherwise, the default handling applies.
  public func urlSession(
    _ session: FerrySession, task: FerrySessionTask, didReceive challenge: FerryAuthenticationChallenge
  ) async -> (FerrySession.AuthChallengeDisposition, FerryCredential?) {
    guard let next = next(session, task) else { return (.performDefaultHandling, nil) }
    return await session.ask { reply in
      next.urlSession(session, task: task, didReceive: challenge) { reply(($0, $1)) }
    }
  }
  /// Calls the async form.
  public func urlSession(
    _ session: FerrySession, task: FerrySessionTask,
    needNewBodyStream completionHandler: @escaping @Sendable (FerryBodyStream?) -> Void
  ) {
    Task { completionHandler(await urlSession(session, needNewBodyStreamForTask: task)) }
  }
  /// Calls the session's delegate if this object is the task's own. Otherwise, the task ends with
  /// `FerryError.requestBodyStreamExhausted`.
  public func urlSession(
    _ session: FerrySession, needNewBodyStreamForTask task: FerrySessionTask
  ) async -> FerryBodyStream? {
    guard let next = next(session, task) else { return nil }
    return await session.ask { next.urlSession(session, task: task, needNewBodyStream: $0) }
  }
  /// Calls the session's delegate if this object is the task's own.
  public func urlSession(
    _ session: FerrySession, task: FerrySessionTask, didSendBodyData bytesSent: Int64,
    totalBytesSent: Int64, totalBytesExpectedToSend: Int64
  ) {
    next(session, task)?.urlSession(
      session, task: task, didSendBodyData: bytesSent, totalBytesSent: totalBytesSent,
      totalBytesExpectedToSend: totalBytesExpectedToSend)
  }
  /// Calls the session's delegate if this object is the task's own.
  public func urlSession(
    _ session: FerrySession, task: FerrySessionTask,
    didReceiveInformationalResponse response: HTTPFerryResponse
  ) {
    next(session, task)?.urlSession(session, task: task, didReceiveInformationalResponse: response)
  }
  /// Calls the session's delegate if this object is the task's own.
  public func urlSession(
    _ session: FerrySession, task: FerrySessionTask, didFinishCollecting metrics: FerrySessionTaskMetrics
  ) { next(session, task)?.urlSession(session, task: task, didFinishCollecting: metrics) }
  /// Calls the session's delegate if this object is the task's own.
  public func urlSession(
    _ session: FerrySession, task: FerrySessionTask, didCompleteWithError error: (any Error)?
  ) { next(session, task)?.urlSession(session, task: task, didCompleteWithError: error) }
}

extension FerrySessionDataDelegate {
  private func next(_ session: FerrySession, _ task: FerrySessionTask) -> (any FerrySessionDataDelegate)? {
    guard task.delegate === self, let next = session.delegate, next !== self else { return nil }
    return next as? any FerrySessionDataDelegate
  }

  /// Calls the async form.
  public func urlSession(
    _ session: FerrySession, dataTask: FerrySessionDataTask, didReceive response: FerryResponse,
    completionHandler: @escaping @Sendable (FerrySession.ResponseDisposition) -> Void
  ) {
    Task { completionHandler(await urlSession(session, dataTask: dataTask, didReceive: response)) }
  }
  /// Calls the session's delegate if this object is the task's own. Otherwise, the response is allowed.
  public func urlSession(
    _ session: FerrySession, dataTask: FerrySessionDataTask, didReceive response: FerryResponse
  ) async -> FerrySession.ResponseDisposition {
    guard let next = next(session, dataTask) else { return .allow }
    return await session.ask { reply in
      next.urlSession(session, dataTask: dataTask, didReceive: response, completionHandler: reply)
    }
  }
  /// Calls the session's delegate if this object is the task's own.
  public func urlSession(
    _ session: FerrySession, dataTask: FerrySessionDataTask, didBecome downloadTask: FerrySessionDownloadTask
  ) { next(session, dataTask)?.urlSession(session, dataTask: dataTask, didBecome: downloadTask) }
  /// Calls the session's delegate if this object is the task's own.
  public func urlSession(_ session: FerrySession, dataTask: FerrySessionDataTask, didReceive data: Data) {
    next(session, dataTask)?.urlSession(session, dataTask: dataTask, didReceive: data)
  }
  /// Calls the async form.
  public func urlSession(
    _ session: FerrySession, dataTask: FerrySessionDataTask,
    willCacheResponse proposedResponse: CachedFerryResponse,
    completionHandler: @escaping @Sendable (CachedFerryResponse?) -> Void
  ) {
    Task {
      completionHandler(
        await urlSession(session, dataTask: dataTask, willCacheResponse: proposedResponse))
    }
  }
  /// Calls the session's delegate if this object is the task's own. Otherwise, the response is stored.
  public func urlSession(
    _ session: FerrySession, dataTask: FerrySessionDataTask,
    willCacheResponse proposedResponse: CachedFerryResponse
  ) async -> CachedFerryResponse? {
    guard let next = next(session, dataTask) else { return proposedResponse }
    return await session.ask { reply in
      next.urlSession(
        session, dataTask: dataTask, willCacheResponse: proposedResponse, completionHandler: reply)
    }
  }
}

extension FerrySessionDownloadDelegate {
  private func next(_ session: FerrySession, _ task: FerrySessionTask) -> (any FerrySessionDownloadDelegate)?
  {
    guard task.delegate === self, let next = session.delegate, next !== self else { return nil }
    return next as? any FerrySessionDownloadDelegate
  }

  /// Calls the session's delegate if this object is the task's own.
  public func urlSession(
    _ session: FerrySession, downloadTask: FerrySessionDownloadTask, didWriteData bytesWritten: Int64,
    totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
  ) {
    next(session, downloadTask)?.urlSession(
      session, downloadTask: downloadTask, didWriteData: bytesWritten, totalBytesWritten: totalBytesWritten,
      totalBytesExpectedToWrite: totalBytesExpectedToWrite)
  }
  /// Calls the session's delegate if this object is the task's own.
  public func urlSession(
    _ session: FerrySession, downloadTask: FerrySessionDownloadTask, didResumeAtOffset fileOffset: Int64,
    expectedTotalBytes: Int64
  ) {
    next(session, downloadTask)?.urlSession(
      session, downloadTask: downloadTask, didResumeAtOffset: fileOffset,
      expectedTotalBytes: expectedTotalBytes)
  }
}

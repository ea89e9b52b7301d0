internal import EventLoop
internal import FoundationEssentials
internal import JSON
internal import Synchronization

/// The calls of delegates and completion handlers. They run on the session's queue.
extension FerrySessionTask {
  private func receiver<Receiver>(_ type: Receiver.Type) -> Receiver? {
    (delegate as? Receiver) ?? (session.delegate as? Receiver)
  }
  private var taskDelegate: (any FerrySessionTaskDelegate)? {
    receiver((any FerrySessionTaskDelegate).self)
  }
  private var dataDelegate: (any FerrySessionDataDelegate)? {
    receiver((any FerrySessionDataDelegate).self)
  }
  private var downloadDelegate: (any FerrySessionDownloadDelegate)? {
    receiver((any FerrySessionDownloadDelegate).self)
  }

  func perform(_ call: DelegateCall) {
    switch call {
    case .challenge(let challenge, let isSessionLevel, let decision):
      ask(challenge, isSessionLevel: isSessionLevel, decision)
    case .redirect(let response, let request, let decision): redirect(response, request, decision)
    case .sent(let bytes, let total, let expected):
      taskDelegate?.urlSession(
        session, task: self, didSendBodyData: bytes, totalBytesSent: total, totalBytesExpectedToSend: expected
      )
    case .informational(let response):
      taskDelegate?.urlSession(session, task: self, didReceiveInformationalResponse: response)
    case .waitsForConnectivity: taskDelegate?.urlSession(session, taskIsWaitingForConnectivity: self)
    case .delayed(let request, let decision): delay(request, decision)
    case .metrics(let metrics):
      taskDelegate?.urlSession(session, task: self, didFinishCollecting: metrics)
    case .completed(let error, let body, let file): complete(error, body, file)
    case .response, .data, .becameDownload, .willCache: perform(call, of: self as? FerrySessionDataTask)
    case .resumed, .wrote, .finishedDownloading: perform(call, of: self as? FerrySessionDownloadTask)
    }
  }

  // MARK: Decisions

  private func ask(
    _ challenge: FerryAuthenticationChallenge, isSessionLevel: Bool, _ decision: String?
  ) {
    let reply: @Sendable (FerrySession.AuthChallengeDisposition, FerryCredential?) -> Void = {
      [self] disposition, credential in answer(decision, .challenge(disposition, credential))
    }
    let askTask: @Sendable () -> Void = { [self] in
      guard let delegate = taskDelegate else { return reply(.performDefaultHandling, nil) }
      delegate.urlSession(session, task: self, didReceive: challenge, completionHandler: reply)
    }
    guard isSessionLevel, let delegate = session.delegate else { return askTask() }
    delegate.urlSession(session, didReceive: challenge) { disposition, credential in
      guard credential === FerryCredential.unimplemented else { return reply(disposition, credential) }
      self.session.delegateQueue.addOperation { askTask() }
    }
  }

  private func redirect(_ response: HTTPFerryResponse, _ request: FerryRequest, _ decision: String?) {
    shared.withLock { $0.currentRequest = request }
    guard let decision, let delegate = taskDelegate else { return }
    delegate.urlSession(session, task: self, willPerformHTTPRedirection: response, newRequest: request) {
      [self] next in
      if let next { shared.withLock { $0.currentRequest = next } }
      answer(decision, .redirection(next))
    }
  }

  private func delay(_ request: FerryRequest, _ decision: String?) {
    guard let decision else { return }
    guard let delegate = taskDelegate else {
      return answer(decision, .delayedRequest(.continueLoading))
    }
    delegate.urlSession(session, task: self, willBeginDelayedRequest: request) {
      [self] disposition, other in answer(decision, .delayedRequest(disposition, other))
    }
  }

  // MARK: Data and downloads

  private func perform(_ call: DelegateCall, of task: FerrySessionDataTask?) {
    guard let task else { return }
    switch call {
    case .response(let response, let decision): respond(response, decision, of: task)
    case .data(let data): dataDelegate?.urlSession(session, dataTask: task, didReceive: data)
    case .becameDownload(let id):
      let download = session.adoptDownload(id, from: self)
      dataDelegate?.urlSession(session, dataTask: task, didBecome: download)
      Task { await session.didCreate(download, id: id) }
      // The data task has no further events.
      shared.withLock { $0.delegate = nil }
      session.didEnd(self, storedFile: nil)
    case .willCache(let response, let decision):
      guard let decision else { return }
      guard let delegate = dataDelegate else { return answer(decision, .caching(response)) }
      delegate.urlSession(session, dataTask: task, willCacheResponse: response) { [self] stored in
        answer(decision, .caching(stored))
      }
    default: break
    }
  }

  private func respond(_ response: HTTPFerryResponse, _ decision: String?, of task: FerrySessionDataTask) {
    let (style, waiter) = shared.withLock { shared in
      defer { shared.onResponse = nil }
      return (shared.machine.style, shared.onResponse)
    }
    waiter?.resume()
    guard style == .delegate, let delegate = dataDelegate else {
      guard let decision else { return }
      return allow(decision)
    }
    delegate.urlSession(session, dataTask: task, didReceive: response) { [self] disposition in
      guard let decision else { return }
      if disposition == .allow { return allow(decision) }
      answer(decision, .response(disposition))
    }
  }

  private func allow(_ decision: String) {
    answer(decision, .response(.allow)) { self.apply(.responseAllowed) }
  }

  private func perform(_ call: DelegateCall, of task: FerrySessionDownloadTask?) {
    guard let task, let delegate = downloadDelegate else {
      if case .finishedDownloading(let file) = call { discard(file) }
      return
    }
    switch call {
    case .resumed(let offset, let expected):
      delegate.urlSession(
        session, downloadTask: task, didResumeAtOffset: offset, expectedTotalBytes: expected)
    case .wrote(let bytes, let total, let expected):
      guard case .none = handler else { return }
      delegate.urlSession(
        session, downloadTask: task, didWriteData: bytes, totalBytesWritten: total,
        totalBytesExpectedToWrite: expected)
    case .finishedDownloading(let file):
      delegate.urlSession(session, downloadTask: task, didFinishDownloadingTo: file)
      discard(file)
    default: break
    }
  }

  private func complete(_ error: FerryError?, _ body: Data?, _ file: URL?) {
    switch handler {
    case .none: taskDelegate?.urlSession(session, task: self, didCompleteWithError: error)
    case .data(let handler): handler(error == nil ? body : nil, error == nil ? response : nil, error)
    case .download(let keepsFile, let handler):
      handler(file, error == nil ? response : nil, error)
      if let file, !keepsFile { discard(file) }
    }
  }

  /// Deletes a temporary file. A file at the task's destination stays.
  private func discard(_ file: URL) {
    if !shared.withLock(\.isPlaced) { try? FileManager.default.removeItem(at: file) }
  }
}

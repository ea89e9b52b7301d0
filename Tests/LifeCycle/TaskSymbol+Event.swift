package import JSON
package import TransferModel

extension TaskSymbol {
  /// Returns the symbol of an event; `nil` for the events of sessions and streams, and for messages of a session's webhook.
  package init?(_ event: TransferEvent) {
    let asks = event.decision != nil
    if let call = DelegateCall(event.type) {
      self = .call(call, asks: asks)
      return
    }
    switch event.payload {
    case .created(let task): self = .created(task.kind)
    case .stateChanged(let state, let phase, _): self = .state(state, phase)
    case .completed(let task):
      self = .completed(
        TaskEnd(
          TaskEnd.Result(code: task.error?.code), hasBody: task.body != nil, hasResponse: task.response != nil
        ))
    default:
      guard let word = TaskSymbol(withoutArguments: event.type) else { return nil }
      self = word
    }
  }

  /// Returns the symbol of an event in the format of streams and the journal. `nil` if `TransferEvent` has no symbol, or if the data lacks
  /// a member.
  /// - Parameter data: the event's member `data`.
  package init?(_ type: EventType, _ data: JSONValue) {
    if let call = DelegateCall(type) {
      self = .call(call, asks: data["decisionId"] != nil)
      return
    }
    switch type {
    case .taskDidCreate:
      guard let kind = data["kind"]?.string.flatMap({ TaskKind(rawValue: $0) }) else { return nil }
      self = .created(kind)
    case .taskDidChangeState:
      guard let state = data["state"]?.string.flatMap({ TaskState(rawValue: $0) }) else { return nil }
      let name = data["phase"]?.string
      let phase = name.flatMap { TaskPhase(rawValue: $0) }
      guard (name == nil) == (phase == nil) else { return nil }
      self = .state(state, phase)
    case .taskDidComplete:
      guard let error = data["error"] else { return nil }
      let result = error.isNull ? TaskEnd.Result.success : TaskEnd.Result(error)
      self = .completed(
        TaskEnd(
          result, hasBody: data["body"]?.isNull == false, hasResponse: data["status"]?.isNull == false))
    default:
      guard let word = TaskSymbol(withoutArguments: type) else { return nil }
      self = word
    }
  }

  /// Returns whether the symbol depends on the event's data, and not only on its type.
  package static func needsData(_ type: EventType) -> Bool {
    switch type {
    case .taskDidCreate, .taskDidChangeState, .taskDidComplete: true
    default: DelegateCall(type) != nil
    }
  }

  private init?(withoutArguments type: EventType) {
    switch type {
    case .taskDidReceiveInformationalResponse: self = .informational
    case .decisionAnswerWasRejected: self = .answerRejected
    case .taskIsWaitingForConnectivity: self = .waitsForConnectivity
    case .downloadTaskDidResumeAtOffset: self = .resumedAtOffset
    case .dataTaskDidBecomeDownloadTask: self = .becameDownload
    case .taskDidSendBodyData: self = .progress(.sentBodyData)
    case .dataTaskDidReceiveData: self = .progress(.receivedData)
    case .downloadTaskDidWriteData: self = .progress(.wroteData)
    case .downloadTaskDidFinishDownloading: self = .finishedDownloading
    case .taskDidFinishCollectingMetrics: self = .metrics
    default: return nil
    }
  }
}

extension DelegateCall {
  package init?(_ type: EventType) {
    switch type {
    case .sessionDidReceiveChallenge: self = .sessionChallenge
    case .taskDidReceiveChallenge: self = .taskChallenge
    case .taskWillPerformHTTPRedirection: self = .redirection
    case .taskNeedNewBodyStream: self = .newBodyStream
    case .taskWillBeginDelayedRequest: self = .delayedRequest
    case .dataTaskDidReceiveResponse: self = .response
    case .dataTaskWillCacheResponse: self = .caching
    default: return nil
    }
  }
}

extension TaskEnd.Result {
  /// - Parameter code: the code of the error; `nil` without an error. Ferry's own codes are positive.
  fileprivate init(code: Int?) {
    switch code {
    case nil: self = .success
    case URLErrorCode.cancelled.rawValue: self = .cancelled
    default: self = .failure
    }
  }

  fileprivate init(_ error: JSONValue) {
    self.init(code: error["code"]?.integer.map { Int($0) } ?? 0)
  }
}

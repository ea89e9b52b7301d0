package import JSON

/// An event, which corresponds to a call of URLSession's delegate.
package struct TransferEvent: Sendable {
  package enum Payload: Sendable {
    /// A call without arguments.
    case none
    case created(TransferTask)
    case stateChanged(TaskState, TaskPhase?, RetryWait? = nil)
    case challenged(AuthenticationChallenge)
    case redirected(TransferResponse, to: TransferRequest)
    case notification(TransferNotification)
    case response(TransferResponse)
    case delayed(TransferRequest)
    case becameDownload(TransferTask)
    case willCache(TransferResponse, size: Int64)
    case resumed(offset: Int64, expectedTotal: Int64)
    case progress(TaskProgress, delta: Int64)
    case data([UInt8], TaskProgress)
    case finishedDownloading(TaskBody, suggestedFilename: String?)
    case metrics(TaskMetrics)
    case completed(TransferTask)
    case groupCompleted(TaskGroup)
    case invalidated
    case answerRejected(DecisionID, reason: String)
    case endpointDisabled(EndpointID, url: String, reason: String)
    case reset(oldest: Int64)
  }

  package let type: EventType
  package let time: Timestamp
  package let sessionID: SessionID
  package let taskID: TaskID?
  package let payload: Payload
  /// The decision that the call waits for; `nil` if it waits for none.
  package let decision: DecisionSummary?

  /// The members of an event that describe its decision.
  package struct DecisionSummary: Sendable, Equatable {
    package let id: DecisionID
    package let expiresAt: Timestamp
    package let defaultAnswer: String
    package init(id: DecisionID, expiresAt: Timestamp, defaultAnswer: String) {
      self.id = id
      self.expiresAt = expiresAt
      self.defaultAnswer = defaultAnswer
    }
  }

  package init(
    _ type: EventType, at time: Timestamp, session: SessionID, task: TaskID? = nil, _ payload: Payload,
    decision: DecisionSummary? = nil
  ) {
    self.type = type
    self.time = time
    sessionID = session
    taskID = task
    self.payload = payload
    self.decision = decision
  }
}

extension TransferEvent {
  /// The tenant of an event that belongs to no session; `nil` for any other event.
  package var tenant: Tenant? {
    if case .groupCompleted(let group) = payload { group.key.tenant } else { nil }
  }

  /// Writes the `data` member: the arguments of the delegate call.
  package func encodeData(into writer: inout JSONWriter) {
    writer.object { encodeDataMembers(into: &$0) }
  }

  /// Writes the members of `data`. The caller may add others.
  package func encodeDataMembers(into writer: inout JSONWriter) {
    encodeArguments(into: &writer)
    guard let decision else { return }
    writer.field("decisionId", decision.id)
    writer.field("expiresAt", decision.expiresAt)
    writer.field("default", decision.defaultAnswer)
  }

  /// Writes the arguments of the delegate call without the decision.
  package func encodeArguments(into writer: inout JSONWriter) {
    switch payload {
    case .none: break
    case .created(let task):
      writer.field("kind", task.kind.rawValue)
      writer.field("taskIdentifier", task.taskIdentifier)
      writer.field("url", task.originalRequest.url)
      writer.field("method", task.originalRequest.method)
      writer.field("description", task.description)
      task.encodeGroup(into: &writer)
    case .stateChanged(let state, let phase, let wait):
      writer.field("state", state.rawValue)
      writer.field("phase", phase?.rawValue)
      wait?.encodeMembers(into: &writer)
    case .challenged(let challenge): challenge.encodeMembers(into: &writer)
    case .redirected(let response, let request):
      writer.field("response", Optional(response))
      writer.field("request", Optional(request))
    case .notification(let notification): notification.encodeArguments(into: &writer)
    case .response(let response): writer.field("response", Optional(response))
    case .delayed(let request): writer.field("request", Optional(request))
    case .becameDownload(let task):
      writer.field("downloadTaskId", task.id)
      writer.field("downloadTask", Optional(task))
    case .willCache(let response, let size):
      writer.field("response", Optional(response))
      writer.field("countOfBytes", size)
      writer.field("storagePolicy", CacheStoragePolicy.allowed.rawValue)
    case .resumed(let offset, let total):
      writer.field("fileOffset", offset)
      writer.field("expectedTotalBytes", total)
    case .progress(let progress, let delta): encode(progress, delta: delta, into: &writer)
    case .data(let bytes, let progress):
      encode(progress, delta: Int64(bytes.count), into: &writer)
      writer.field("data", Base64.encode(bytes))
    case .finishedDownloading(let body, let name):
      writer.field("body", Optional(body))
      writer.field("suggestedFilename", name)
    case .metrics(let metrics): writer.field("metrics", Optional(metrics))
    case .completed(let task):
      writer.field("error", task.error)
      writer.field("status", task.response?.status)
      writer.field("body", task.body)
    case .groupCompleted(let group):
      group.encodeMembers(into: &writer, group.finalCounts ?? GroupCounts())
    case .invalidated: writer.nullField("error")
    case .answerRejected(let decision, let reason):
      writer.field("decisionId", decision)
      writer.field("reason", reason)
    case .endpointDisabled(let endpoint, let url, let reason):
      writer.field("endpoint", endpoint)
      writer.field("url", url)
      writer.field("reason", reason)
    case .reset(let oldest): writer.field("oldestAvailable", oldest)
    }
  }

  private func encode(_ progress: TaskProgress, delta: Int64, into writer: inout JSONWriter) {
    switch type {
    case .downloadTaskDidWriteData:
      writer.field("bytesWritten", delta)
      writer.field("totalBytesWritten", progress.countOfBytesReceived)
      writer.field("totalBytesExpectedToWrite", progress.countOfBytesExpectedToReceive)
    case .taskDidSendBodyData:
      writer.field("bytesSent", delta)
      writer.field("totalBytesSent", progress.countOfBytesSent)
      writer.field("totalBytesExpectedToSend", progress.countOfBytesExpectedToSend)
    default:
      writer.field("bytesReceived", delta)
      writer.field("countOfBytesReceived", progress.countOfBytesReceived)
      writer.field("countOfBytesExpectedToReceive", progress.countOfBytesExpectedToReceive)
    }
  }

}

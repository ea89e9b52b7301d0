package import TransferModel

/// The symbol of an event in the grammar of its task.
package enum TaskSymbol: Sendable, Hashable {
  case created(TaskKind)
  /// The phase is that of a running task, and `nil` in every other state.
  case state(TaskState, TaskPhase?)
  /// - Parameter asks: whether the call carries a decision, so that the task waits for the delegate's answer.
  case call(DelegateCall, asks: Bool)
  case informational
  case answerRejected
  case waitsForConnectivity
  case resumedAtOffset
  case becameDownload
  case progress(ProgressEvent)
  case finishedDownloading
  case metrics
  case completed(TaskEnd)
}

/// The calls that may require a decision of the delegate.
package enum DelegateCall: UInt8, Sendable, CaseIterable {
  /// The two challenges: `session.didReceiveChallenge` and `task.didReceiveChallenge`.
  case sessionChallenge, taskChallenge
  case redirection, newBodyStream, delayedRequest, response, caching

  /// Whether the call always requires a decision.
  var alwaysAsks: Bool {
    switch self {
    case .sessionChallenge, .taskChallenge, .newBodyStream: true
    case .redirection, .delayedRequest, .response, .caching: false
    }
  }
}

/// The calls that count bytes. Their events are not stored.
package enum ProgressEvent: UInt8, Sendable, CaseIterable {
  case sentBodyData, receivedData, wroteData
}

/// The end of a task.
package struct TaskEnd: Sendable, Hashable {
  package enum Result: UInt8, Sendable, CaseIterable {
    /// Without an error, whatever the HTTP status.
    case success
    /// NSURLErrorCancelled.
    case cancelled
    /// With any other error.
    case failure
  }
  package var result: Result
  /// Whether the end contains a body that clients can fetch.
  package var hasBody: Bool
  /// Whether the end contains the status of a response.
  package var hasResponse: Bool

  package init(_ result: Result, hasBody: Bool = false, hasResponse: Bool = false) {
    self.result = result
    self.hasBody = hasBody
    self.hasResponse = hasResponse
  }
}

extension TaskSymbol {
  /// All possible symbols.
  package static let all: [TaskSymbol] = {
    let phases: [TaskPhase?] = [nil] + TaskPhase.allCases
    var words: [TaskSymbol] = TaskKind.allCases.map { .created($0) }
    words += TaskState.allCases.flatMap { state in phases.map { .state(state, $0) } }
    words += DelegateCall.allCases.flatMap { call in [true, false].map { .call(call, asks: $0) } }
    words += [.informational, .answerRejected, .waitsForConnectivity, .resumedAtOffset, .becameDownload]
    words += ProgressEvent.allCases.map { .progress($0) }
    words += [.finishedDownloading, .metrics]
    for result in TaskEnd.Result.allCases {
      for hasBody in [true, false] {
        words += [true, false].map { .completed(TaskEnd(result, hasBody: hasBody, hasResponse: $0)) }
      }
    }
    return words
  }()
}

extension TaskSymbol: CustomStringConvertible {
  /// The event's name without its class, and its arguments.
  package var description: String {
    switch self {
    case .created(let kind): "didCreate \(kind)"
    case .state(let state, let phase): "didChangeState \(state)" + (phase.map { "/\($0)" } ?? "")
    case .call(let call, let asks): "\(call)" + (asks ? "?" : "")
    case .answerRejected: "answerWasRejected"
    case .informational: "didReceiveInformationalResponse"
    case .waitsForConnectivity: "isWaitingForConnectivity"
    case .resumedAtOffset: "didResumeAtOffset"
    case .becameDownload: "didBecomeDownloadTask"
    case .progress(let call): "\(call)"
    case .finishedDownloading: "didFinishDownloading"
    case .metrics: "didFinishCollectingMetrics"
    case .completed(let end):
      "didComplete \(end.result)" + (end.hasBody ? ", a body" : "")
        + (end.hasResponse ? ", a response" : "")
    }
  }
}

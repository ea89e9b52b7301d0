package import TransferModel

/// What one event says of a task, as far as the task's grammar needs it.
package enum TaskWord: Sendable, Hashable {
  case created(TaskKind)
  /// The phase is that of a running task, and nil in every other state.
  case state(TaskState, TaskPhase?)
  /// - Parameter asks: the call bears a decision: the task waits for the delegate's answer.
  case call(TaskCall, asks: Bool)
  case informational
  case waitsForConnectivity
  case resumedAtOffset
  case becameDownload
  case progress(ProgressCall)
  case finishedDownloading
  case metrics
  case completed(TaskEnd)
}

/// The calls that a delegate may have to answer.
package enum TaskCall: UInt8, Sendable, CaseIterable {
  /// Of a challenge: `session.didReceiveChallenge`, `task.didReceiveChallenge`.
  case sessionChallenge, taskChallenge
  case redirection, newBodyStream, delayedRequest, response, caching

  /// Nobody is told of it who is not asked.
  var alwaysAsks: Bool {
    switch self {
    case .sessionChallenge, .taskChallenge, .newBodyStream: true
    case .redirection, .delayedRequest, .response, .caching: false
    }
  }
}

/// Calls that count bytes. They are told and not kept.
package enum ProgressCall: UInt8, Sendable, CaseIterable {
  case sentBodyData, receivedData, wroteData
}

/// How a task ended.
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
  /// The end tells of a body that can be fetched.
  package var hasBody: Bool
  /// The end tells the status of a response.
  package var hasResponse: Bool

  package init(_ result: Result, hasBody: Bool = false, hasResponse: Bool = false) {
    self.result = result
    self.hasBody = hasBody
    self.hasResponse = hasResponse
  }
}

extension TaskWord {
  /// All words there are.
  package static let all: [TaskWord] = {
    let phases: [TaskPhase?] = [nil] + TaskPhase.allCases
    var words: [TaskWord] = TaskKind.allCases.map { .created($0) }
    words += TaskState.allCases.flatMap { state in phases.map { .state(state, $0) } }
    words += TaskCall.allCases.flatMap { call in [true, false].map { .call(call, asks: $0) } }
    words += [.informational, .waitsForConnectivity, .resumedAtOffset, .becameDownload]
    words += ProgressCall.allCases.map { .progress($0) }
    words += [.finishedDownloading, .metrics]
    for result in TaskEnd.Result.allCases {
      for hasBody in [true, false] {
        words += [true, false].map { .completed(TaskEnd(result, hasBody: hasBody, hasResponse: $0)) }
      }
    }
    return words
  }()
}

extension TaskWord: CustomStringConvertible {
  /// The event's name without its class, and what it says.
  package var description: String {
    switch self {
    case .created(let kind): "didCreate \(kind)"
    case .state(let state, let phase): "didChangeState \(state)" + (phase.map { "/\($0)" } ?? "")
    case .call(let call, let asks): "\(call)" + (asks ? "?" : "")
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

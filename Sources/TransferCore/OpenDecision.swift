package import TransferModel

/// An open decision, with the parts of it that only the service knows.
package struct OpenDecision: Sendable {
  package enum Kind: Sendable {
    case redirect(proposed: TransferRequest)
    case challenge(AuthenticationMethod)
    case response
    case caching
    case bodyStream
    case delayedRequest
  }

  package let decision: DecisionID
  /// The number of the decision within its task, for the engine or the worker; `nil` if the service itself requested it.
  package let number: Int?
  package let kind: Kind

  var isAboutBeginning: Bool { if case .delayedRequest = kind { true } else { false } }

  /// Whether a TLS handshake waits for the decision and keeps its connection and its place in the queue.
  var isOnWire: Bool {
    switch kind {
    case .challenge(.serverTrust), .challenge(.clientCertificate): true
    default: false
    }
  }

  /// Returns what Ferry does if the decision expires, as clients see it.
  package static func defaultAnswer(to type: EventType) -> String {
    switch type {
    case .taskWillPerformHTTPRedirection: "follow"
    case .taskDidReceiveChallenge, .sessionDidReceiveChallenge: "performDefaultHandling"
    case .dataTaskDidReceiveResponse: "allow"
    case .dataTaskWillCacheResponse: CacheStoragePolicy.allowed.rawValue
    case .taskWillBeginDelayedRequest: "continue"
    default: "fail"
    }
  }
}

package import TransferModel

/// A delegate call that waits for an answer, with what only the process knows of it.
package struct Question: Sendable {
  package enum Kind: Sendable {
    case redirect(proposed: TransferRequest)
    case challenge(AuthenticationMethod)
    case response
    case caching
    case bodyStream
    case delayedRequest
  }

  package let decision: DecisionID
  /// Among the task's, for whoever carries it out; nil: the service itself asked.
  package let number: Int?
  package let kind: Kind

  var isAboutBeginning: Bool { if case .delayedRequest = kind { true } else { false } }

  /// A handshake waits, with its connection and its place.
  var isOnWire: Bool {
    switch kind {
    case .challenge(.serverTrust), .challenge(.clientCertificate): true
    default: false
    }
  }

  /// What is done where nobody answers, as decisions show it.
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

package import HTTPFields
package import TransferModel

/// The answer of a delegate to a decision.
package enum DecisionAnswer: Sendable {
  /// `nil` if the redirect is not followed and its response becomes the task's response.
  case redirect(TransferRequest?)
  case challenge(ChallengeDisposition)
  case response(ResponseDisposition)
  /// - Parameter headers: the header fields to store; `nil` for those of the response.
  case caching(CacheStoragePolicy, headers: HTTPHeaders?)
  case delayed(DelayedRequestDisposition, TransferRequest?)

  package enum ChallengeDisposition: Sendable {
    case answer(ChallengeAnswer)
    /// URLSession.AuthChallengeDisposition.cancelAuthenticationChallenge.
    case cancel
  }
}

/// URLSession.ResponseDisposition.
package enum ResponseDisposition: String, Sendable, CaseIterable {
  case allow, cancel, becomeDownload
}

/// URLSession.DelayedRequestDisposition.
package enum DelayedRequestDisposition: String, Sendable, CaseIterable {
  case continueLoading, useNewRequest, cancel
}

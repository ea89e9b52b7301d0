package import HTTPFields
package import TransferModel

/// What a delegate answered.
package enum DecisionAnswer: Sendable {
  /// nil: the redirect's own answer is the result.
  case redirect(TransferRequest?)
  case challenge(Challenge)
  case response(ResponseDisposition)
  /// - Parameter headers: the fields to store; nil: those of the response.
  case caching(CacheStoragePolicy, headers: HTTPHeaders?)
  case delayed(DelayedRequestDisposition, TransferRequest?)

  package enum Challenge: Sendable {
    case answer(ChallengeAnswer)
    /// cancelAuthenticationChallenge
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

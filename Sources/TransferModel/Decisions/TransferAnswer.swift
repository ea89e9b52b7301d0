package import HTTPFields

/// What a transfer that asked does next.
package enum TransferAnswer: Sendable {
  /// Sends this request in place of the first; nil: the redirect's own answer is the result.
  case redirect(TransferRequest?)
  case challenge(ChallengeAnswer)
  case allow
  /// Goes on as this download, with the bytes that are here already.
  case becomeDownload(TaskID)
  /// - Parameter headers: the fields to store in place of those of the answer; nil: the answer's.
  case caching(CacheStoragePolicy, headers: HTTPHeaders?)
  case bodyStream(BodyReference)
  /// Nobody answered: redirects are followed, responses allowed and stored, challenges handled by default; without a body the task
  /// ends.
  case byDefault
}

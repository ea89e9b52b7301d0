package import HTTPFields

/// The answer that a waiting transfer receives.
package enum TransferAnswer: Sendable {
  /// The request to send next; `nil` if the redirect is not followed and its response becomes the task's response.
  case redirect(TransferRequest?)
  case challenge(ChallengeAnswer)
  case allow
  /// Continues as this download, with the bytes received so far.
  case becomeDownload(TaskID)
  /// - Parameter headers: the header fields to store; `nil` for those of the response.
  case caching(CacheStoragePolicy, headers: HTTPHeaders?)
  case bodyStream(BodyReference)
  /// The decision expired. Redirects are followed, responses allowed and stored, and challenges handled by default. Without a body, the
  /// task ends.
  case byDefault
}

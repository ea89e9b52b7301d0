/// The answer to a challenge (URLSession.AuthChallengeDisposition). Cancellation is not among them, because it cancels the task.
package enum ChallengeAnswer: Sendable, Equatable {
  case useCredential(Credential)
  /// Continues without a credential: the response with status 401 or 407 becomes the result.
  case useNoCredential
  /// Accepts exactly the shown chain, for its host in its session.
  case trust
  case performDefaultHandling
  case rejectProtectionSpace
}

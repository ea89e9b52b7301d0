/// What is done about a challenge (URLSession.AuthChallengeDisposition). To cancel is to cancel the task.
package enum ChallengeAnswer: Sendable, Equatable {
  case useCredential(Credential)
  /// Goes on without one: a 401 or 407 is the result.
  case useNoCredential
  /// Accepts exactly the chain that was shown, for its host in its session.
  case trust
  case performDefaultHandling
  case rejectProtectionSpace
}

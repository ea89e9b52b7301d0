package import TransferModel

/// What is done about a challenge (URLSession.AuthChallengeDisposition). To cancel is to cancel the task.
package enum ChallengeAnswer: Sendable, Equatable {
  case useCredential(Credential)
  /// Accepts exactly the chain that was shown, for its host in its session.
  case trust
  case performDefaultHandling
  case rejectProtectionSpace
}

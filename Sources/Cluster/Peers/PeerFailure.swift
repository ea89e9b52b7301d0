/// Why another process gave no answer.
package enum PeerFailure: Error, Sendable {
  /// It was not reached: nothing was asked of it.
  case unreachable
  /// It may have done what it was asked.
  case lost(String)
}

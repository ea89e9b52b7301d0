package import Ledger

/// The reason why a request was not carried out at the owner of its session.
package enum ClusterError: Error, Sendable {
  /// The session is being handed over or taken over. A client may safely try again after a second.
  case moving
  /// The connection to the owner broke after the request was sent. The owner may have carried it out.
  case ownerLost
  /// Another service has forwarded the request to this one, which does not own the session.
  case misdirected
  /// No owner was found within 30 seconds, or this service has not joined. The text is for the log.
  case unavailable(String)
  /// The ledger cannot be read.
  case store(LedgerError)
}

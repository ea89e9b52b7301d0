/// An error of the ledger.
package enum LedgerError: Error, Sendable {
  /// The disk is full.
  case full
  /// The ledger cannot be read or written at the moment.
  case unavailable(String)
  /// A condition of the change was not met.
  case conditionFailed(ChangeCondition)
  /// Another process owns the session.
  case notOwner
  /// Another process has taken over from this process. All later writes of this process fail.
  case fencedOff
  /// The record exists, but is damaged or has another version.
  case unreadable(UnreadableRow)
}

extension LedgerError: CustomStringConvertible {
  /// The text in the log.
  package var description: String {
    switch self {
    case .full: "the disk is full"
    case .unavailable(let reason): "the database cannot be used: \(reason)"
    case .conditionFailed: "the rows have changed since they were read"
    case .notOwner: "another service owns the session"
    case .fencedOff: "another process has taken over"
    case .unreadable(let row): "\(row)"
    }
  }
}

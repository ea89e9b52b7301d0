/// Why the store did not do what it was asked.
package enum StoreError: Error, Sendable {
  /// No room on the disk.
  case full
  /// Cannot be written or read at the moment.
  case unavailable(String)
  /// A condition of the change does not hold.
  case unmet(Condition)
  /// Another process owns the session by now.
  case notOwner
  /// Another process has taken over from this one: nothing of this one's is written any more.
  case fencedOff
  /// The record exists, but its content is damaged or of another version.
  case unreadable(UnreadableRow)
}

extension StoreError: CustomStringConvertible {
  /// As the log has it.
  package var description: String {
    switch self {
    case .full: "the disk is full"
    case .unavailable(let reason): "the database cannot be used: \(reason)"
    case .unmet: "the rows are not as the change expects them"
    case .notOwner: "another service owns the session"
    case .fencedOff: "another process has taken over"
    case .unreadable(let row): "\(row)"
    }
  }
}

/// The commits of a ledger, as streams receive them, in order.
package enum Feed: Sendable {
  /// Rows of other processes that are told of one by one; where there are more, streams read the journal.
  package static let gapLimit = 1_000

  /// What was committed next, by this process or by another.
  case committed([JournalFragment])
  /// Others have committed more than is worth telling at once: whoever has heard all up to here reads the journal.
  case leap(after: Int64)

  package var fragments: [JournalFragment] {
    if case .committed(let fragments) = self { fragments } else { [] }
  }
}

/// The commits of a ledger, as streams receive them, in order.
package enum Feed: Sendable {
  /// The most rows of other processes that are published one by one. After more rows, streams read the journal instead.
  package static let gapLimit = 1_000

  /// The next events that this process or another has committed.
  case committed([JournalFragment])
  /// Other processes have committed more events than `gapLimit`. Streams that have sent all events up to `after` read the journal.
  case gap(after: Int64)

  package var fragments: [JournalFragment] {
    if case .committed(let fragments) = self { fragments } else { [] }
  }
}

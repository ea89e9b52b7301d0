package import TransferModel

/// A piece of the journal.
package struct JournalPage: Sendable {
  package var fragments: [JournalFragment]
  /// All that the scope has up to here is in the page or before it.
  package var coveredSequence: Int64
  /// False where the page was cut off.
  package var isLast: Bool
  /// The events that were pruned from the journal: the tenant's, if the page is a tenant's; else all.
  package var pruned: PrunedEvents
  /// The first sequence number that is kept of the same events; `.max` if none is.
  private var oldestKept: Int64

  package init(
    fragments: [JournalFragment], coveredSequence: Int64, isLast: Bool, pruned: PrunedEvents, oldest: Int64
  ) {
    self.fragments = fragments
    self.coveredSequence = coveredSequence
    self.isLast = isLast
    self.pruned = pruned
    oldestKept = oldest
  }

  /// The first sequence number that the journal has, or will have.
  package var oldest: Int64 { min(oldestKept, coveredSequence + 1) }

  /// One page of two places that number their events from one counter.
  /// - Parameter known: what is numbered up to here is in both; what comes meanwhile may be in one, and not yet in the other.
  package static func joined(_ disk: JournalPage, _ memory: JournalPage, known: Int64) -> JournalPage {
    let pages = [disk, memory]
    let covered = min(known, pages.filter { !$0.isLast }.map(\.coveredSequence).min() ?? known)
    let fragments = pages.flatMap(\.fragments).filter { $0.last <= covered }
    return JournalPage(
      fragments: fragments.sorted { $0.first < $1.first }, coveredSequence: covered,
      isLast: pages.allSatisfy(\.isLast), pruned: disk.pruned.merged(with: memory.pruned),
      oldest: min(disk.oldestKept, memory.oldestKept))
  }
}

package import TransferModel

/// A page of the journal.
package struct JournalPage: Sendable {
  package var fragments: [JournalFragment]
  /// The last sequence number that the page covers: every event of the scope up to it is on this page or an earlier one.
  package var coveredSequence: Int64
  /// Whether the page reaches the end of the journal. `false` if the page was cut off.
  package var isLast: Bool
  /// The pruned events: those of the tenant if the page is a tenant's, else all.
  package var pruned: PrunedEvents
  /// The first stored sequence number of the same events; `.max` if none is stored.
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

  /// Returns one page from two journals that number their events with one counter.
  /// - Parameter known: the last number that both journals include. Later events may be in one journal and not yet in the other.
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

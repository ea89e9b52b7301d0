internal import Ledger
internal import TransferModel

/// The journal in order: its fragments, from a place on.
struct JournalRows {
  let reader: RowReader

  /// Fragments with events after `sequence`, about `maximumBytes` of them.
  func journal(_ scope: EventScope, after sequence: Int64, maximumBytes: Int) -> JournalPage {
    let firsts: [Int64] =
      switch scope {
      case .tenant(let tenant): reader.rows.journalOfTenant[tenant]
      case .session(let id): reader.rows.journalOfSession[id]
      case .task(let id): reader.rows.journalOfTask[id]
      }
    var (pruned, oldest) = (reader.rows.pruned, reader.rows.journal.keys.first)
    if case .tenant(let tenant) = scope {
      (pruned.through, oldest) = (reader.rows.prunedOfTenant[tenant] ?? 0, firsts.first)
    }
    var page = JournalPage(
      fragments: [], coveredSequence: sequence, isLast: false, pruned: pruned, oldest: oldest ?? .max)
    // A fragment may begin before `sequence` and end after it: at most one, the last that begins before.
    let start = max(0, firsts.firstIndex(above: sequence) - 1)
    var bytes = 0
    for first in firsts[min(start, firsts.count)...] {
      guard let fragment = reader.rows.journal[first], fragment.last > sequence else { continue }
      guard bytes < maximumBytes else { return page }
      page.coveredSequence = fragment.last
      guard let whole = reader.all(CollectionOfOne(fragment), .journal, { "\($0.first)" }).first else {
        continue
      }
      bytes += whole.bytes.count
      page.fragments.append(whole)
    }
    guard bytes < maximumBytes else { return page }
    let newest = reader.rows.journal.keys.last.flatMap { reader.rows.journal[$0]?.last } ?? 0
    page.coveredSequence = max(newest, sequence, pruned.through)
    page.isLast = true
    return page
  }

  func oldestEvents(limit: Int) -> [AgedEvents] {
    reader.rows.journal.all().prefix(limit).map { _, fragment in
      AgedEvents(
        last: fragment.last, time: fragment.time ?? Timestamp(microseconds: 0),
        isHeld: fragment.taskID.map { reader.rows.deliveries.pendingOfTask[$0] != nil } ?? false)
    }
  }
}

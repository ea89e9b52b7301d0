internal import Ledger
internal import TransferModel

/// The journal in order: its fragments, from a place on.
struct JournalRows {
  let reader: RowReader

  /// Fragments with events after `sequence`, about `maximumBytes` of them.
  func journal(_ scope: EventScope, after sequence: Int64, maximumBytes: Int) -> JournalPage {
    let (pruned, firsts): (PrunedEvents, SortedKeys<Int64>) =
      switch scope {
      case .tenant(let tenant): (reader.rows.pruned(of: tenant), reader.rows.journalOfTenant[tenant])
      case .session(let id): (reader.rows.pruned, reader.rows.journalOfSession[id])
      case .task(let id): (reader.rows.pruned, reader.rows.journalOfTask[id])
      }
    var oldest = reader.rows.journal.first?.key
    if case .tenant = scope { oldest = firsts.first?.key }
    var page = JournalPage(
      fragments: [], coveredSequence: sequence, isLast: false, pruned: pruned, oldest: oldest ?? .max)
    // A fragment may begin before `sequence` and end after it: at most one, the last that begins before.
    let start = firsts.last(through: sequence)?.key ?? sequence
    var bytes = 0
    for (first, _) in firsts.all(after: start - 1) {
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
    page.coveredSequence = max(reader.rows.journal.last?.row.last ?? 0, sequence, pruned.through)
    page.isLast = true
    return page
  }

  func oldestEvents(limit: Int) -> [AgedEvents] {
    reader.rows.journal.all().prefix(limit).map { _, fragment in
      AgedEvents(
        last: fragment.last, time: fragment.time ?? Timestamp(microseconds: 0),
        isHeld: fragment.taskID.map { reader.rows.deliveries.hasPending(of: $0) } ?? false)
    }
  }
}

extension MemoryRows {
  /// The tenant's events that were pruned.
  fileprivate func pruned(of tenant: Tenant) -> PrunedEvents {
    PrunedEvents(through: prunedOfTenant[tenant] ?? 0, time: pruned.time)
  }
}

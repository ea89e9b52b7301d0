internal import Ledger
internal import TransferModel

/// The journal in memory, read page by page.
struct JournalRows {
  let reader: RowReader

  /// Returns about `maximumBytes` of fragments with events after `sequence`.
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
    // At most one fragment begins before `sequence` and ends after it: the last that begins before.
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

  func oldestEvents(limit: Int) -> [JournalRowAge] {
    reader.rows.journal.all().prefix(limit).map { _, fragment in
      JournalRowAge(
        last: fragment.last, time: fragment.time ?? Timestamp(microseconds: 0),
        isHeld: fragment.taskID.map { reader.rows.deliveries.hasPending(of: $0) } ?? false)
    }
  }
}

extension MemoryRows {
  /// Returns how many of the tenant's events were pruned.
  fileprivate func pruned(of tenant: Tenant) -> PrunedEvents {
    PrunedEvents(through: prunedOfTenant[tenant] ?? 0, time: pruned.time)
  }
}

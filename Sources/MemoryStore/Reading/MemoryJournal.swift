internal import TransferModel
internal import TransferStore

/// The journal: what was told, in its order.
struct MemoryJournal: JournalRecords {
  let store: MemoryStore

  func journal(
    _ scope: EventScope, after sequence: Int64, maximumBytes: Int
  ) async throws(StoreError) -> JournalPage {
    var page = try store.readDisk {
      JournalRows(reader: $0).journal(scope, after: sequence, maximumBytes: maximumBytes)
    }
    guard store.hasEphemeralSessions else {
      page.oldest = min(page.oldest, page.coveredSequence + 1)
      return page
    }
    let own = try store.readOwn {
      JournalRows(reader: $0).journal(scope, after: sequence, maximumBytes: maximumBytes)
    }
    return .joined(page, own, known: max(store.lastSequence, sequence))
  }

  func oldestEvents(in place: RetainedPlace, limit: Int) async throws(StoreError) -> [AgedEvents] {
    var pages: [[AgedEvents]] = []
    if place == .everywhere {
      pages.append(try store.readDisk { JournalRows(reader: $0).oldestEvents(limit: limit) })
    }
    if store.hasEphemeralSessions {
      pages.append(try store.readOwn { JournalRows(reader: $0).oldestEvents(limit: limit) })
    }
    return .joined(pages, limit: limit, known: store.lastSequence)
  }
}

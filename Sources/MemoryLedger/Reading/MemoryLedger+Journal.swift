package import Ledger
package import TransferModel

/// The journal: what was told, in its order.
extension MemoryLedger {
  package func journal(
    _ scope: EventScope, after sequence: Int64, maximumBytes: Int
  ) async throws(StoreError) -> JournalPage {
    var page = try readDisk {
      JournalRows(reader: $0).journal(scope, after: sequence, maximumBytes: maximumBytes)
    }
    guard hasEphemeralSessions else {
      page.oldest = min(page.oldest, page.coveredSequence + 1)
      return page
    }
    let own = try readOwn {
      JournalRows(reader: $0).journal(scope, after: sequence, maximumBytes: maximumBytes)
    }
    return .joined(page, own, known: max(lastSequence, sequence))
  }

  package func oldestEvents(in place: RetainedPlace, limit: Int) async throws(StoreError) -> [AgedEvents] {
    var pages: [[AgedEvents]] = []
    if place == .everywhere {
      pages.append(try readDisk { JournalRows(reader: $0).oldestEvents(limit: limit) })
    }
    if hasEphemeralSessions {
      pages.append(try readOwn { JournalRows(reader: $0).oldestEvents(limit: limit) })
    }
    return .joined(pages, limit: limit, known: lastSequence)
  }
}

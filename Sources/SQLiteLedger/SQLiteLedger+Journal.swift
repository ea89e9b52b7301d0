internal import FoundationEssentials
internal import GRDB
package import Ledger
package import TransferModel

/// The journal of events.
extension SQLiteLedger {
  package func journal(
    _ scope: EventScope, after sequence: Int64, maximumBytes: Int
  ) async throws(LedgerError) -> JournalPage {
    let reader = readers.reader(of: .journal)
    return try await readers.read { database in
      try Self.page(of: database, reader, scope, after: sequence, maximumBytes: maximumBytes)
    }
  }

  private static func page(
    of database: Database, _ reader: StrictReader, _ scope: EventScope, after sequence: Int64,
    maximumBytes: Int
  ) throws -> JournalPage {
    let (before, fragments, argument) = queries(scope)
    let pruned = try PrunedEvents.read(database, of: scope)
    let known = try Self.oldest(database, scope)
    var page = JournalPage(
      fragments: [], coveredSequence: sequence, isLast: false, pruned: pruned, oldest: known ?? .max)
    // At most one fragment begins before `sequence` and ends after it: the last that begins before.
    let start = try Int64.fetchOne(
      database.prepared(before), arguments: ["after": sequence, "scope": argument])
    let statement = try database.prepared(fragments)
    let columns = fragments.columns(of: statement)
    let rows = try Row.fetchCursor(
      statement,
      arguments: ["start": start ?? sequence, "after": sequence, "scope": argument])
    var bytes = 0
    var covered = sequence
    while bytes < maximumBytes {
      guard let row = try rows.next() else {
        let newest = try Int64.fetchOne(database.prepared(.lastSequence)) ?? 0
        page.coveredSequence = max(newest, sequence, pruned.through)
        page.isLast = true
        return page
      }
      let stored = StoredRow(row: row, kind: .journal, box: reader.box, columns: columns)
      do throws(UnreadableRow) {
        let fragment = try JournalFragment(stored)
        bytes += fragment.bytes.count
        covered = fragment.last
        page.fragments.append(fragment)
      } catch {
        reader.unreadable.add(error)
        covered = max(covered, (try? stored.integer(.last)) ?? covered)
      }
    }
    page.coveredSequence = covered
    return page
  }

  private static func queries(
    _ scope: EventScope
  ) -> (before: Query, fragments: Query, argument: DatabaseValue) {
    switch scope {
    case .tenant(let tenant): (.fragmentBeforeOfTenant, .fragmentsOfTenant, tenant.name.databaseValue)
    case .session(let id): (.fragmentBeforeOfSession, .fragmentsOfSession, Data(id.bytes).databaseValue)
    case .task(let id): (.fragmentBeforeOfTask, .fragmentsOfTask, Data(id.bytes).databaseValue)
    }
  }

  /// Returns the first sequence number in the scope if that is a tenant's, else of all events; `nil` if there are none.
  private static func oldest(_ database: Database, _ scope: EventScope) throws -> Int64? {
    guard case .tenant(let tenant) = scope else {
      return try Int64.fetchOne(database.prepared(.oldestFragment))
    }
    return try Int64.fetchOne(database.prepared(.oldestFragmentOfTenant), arguments: [tenant.name])
  }
}

extension PrunedEvents {
  /// Returns how much of the journal was pruned; for a tenant's scope, how much of that tenant's events.
  fileprivate static func read(_ database: Database, of scope: EventScope) throws -> PrunedEvents {
    var pruned = try read(database)
    if case .tenant(let tenant) = scope {
      pruned.through =
        try Int64.fetchOne(
          database.prepared(.prunedOfTenant), arguments: [tenant.name]) ?? 0
    }
    return pruned
  }

  /// Returns how much of the journal was pruned.
  fileprivate static func read(_ database: Database) throws -> PrunedEvents {
    guard let row = try Row.fetchOne(database.prepared(.pruned)) else { return .none }
    return PrunedEvents(through: row[.through], time: Timestamp(microseconds: row[.time]))
  }
}

extension EventNumbers {
  /// Returns the highest number that an event has or had, and the last reserved number.
  static func written(_ database: Database) throws -> (journal: Int64, reserved: Int64) {
    let journal = try Int64.fetchOne(database.prepared(.lastSequence)) ?? 0
    return (
      max(journal, try PrunedEvents.read(database).through),
      try Int64.fetchOne(database.prepared(.reservation)) ?? 0
    )
  }
}

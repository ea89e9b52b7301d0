internal import FoundationEssentials
internal import GRDB
package import TransferModel

// The journal: one row holds events that one change has for one task, as streams carry them.

extension SQLiteStore {
  package func journal(
    _ scope: EventScope, after sequence: Int64, maximumBytes: Int
  ) async throws(StoreError) -> JournalPage {
    let reader = reader(of: .journal)
    let read: @Sendable (Database) throws -> JournalPage = { database in
      try Self.page(of: database, reader, scope, after: sequence, maximumBytes: maximumBytes)
    }
    guard hasEphemeralSessions else {
      var page = try await readDisk(read)
      page.oldest = min(page.oldest, page.coveredSequence + 1)
      return page
    }
    let known = max(lastSequence, sequence)
    return .joined(try await readDisk(read), try await readMemory(read), known: known)
  }

  private static func page(
    of database: Database, _ reader: StrictReader, _ scope: EventScope, after sequence: Int64,
    maximumBytes: Int
  ) throws -> JournalPage {
    let (before, fragments, argument) = queries(scope)
    let pruned = try prunedEvents(database, of: scope)
    let known = try Self.oldest(database, scope)
    var page = JournalPage(
      fragments: [], coveredSequence: sequence, isLast: false, pruned: pruned, oldest: known ?? .max)
    // A fragment may begin before `sequence` and end after it: at most one, the last that begins before.
    let start = try Int64.fetchOne(
      database.prepared(before), arguments: ["after": sequence, "scope": argument])
    let rows = try Row.fetchCursor(
      database.prepared(fragments),
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
      let stored = StoredRow(row: row, table: .journal, box: reader.box)
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

  /// The first sequence number of a tenant's events where those are asked for, else of all; nil where there is none.
  private static func oldest(_ database: Database, _ scope: EventScope) throws -> Int64? {
    guard case .tenant(let tenant) = scope else {
      return try Int64.fetchOne(database.prepared(.oldestFragment))
    }
    return try Int64.fetchOne(database.prepared(.oldestFragmentOfTenant), arguments: [tenant.name])
  }
}

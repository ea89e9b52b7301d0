package import Ledger
internal import Synchronization
package import TransferModel

/// The records of ephemeral sessions: rows in this process's memory. They take their event numbers from a durable ledger
/// (`CompositeLedger`).
package final class MemoryLedger: MemoryRowsReading, NumberedWriter {
  /// The most deleted sessions whose ids are kept. A late change of such a session must not reach the disk.
  package static let maximumDeletedIDs = 10_000

  private struct State {
    var rows = MemoryRows()
    var isClosed = false
  }
  /// The ids of the sessions in memory.
  fileprivate struct Sessions {
    var ids: Set<SessionID> = []
    /// The deleted sessions, the oldest first.
    var deleted = SortedKeys<Deletion>()
    var deletions = 0
  }
  fileprivate struct Deletion: Comparable {
    let number: Int
    let session: SessionID
    static func < (left: Self, right: Self) -> Bool { left.number < right.number }
  }
  private let state = Mutex(State())
  /// A separate lock: every write to either ledger looks up its session here, and must not wait for readers.
  private let sessions = Mutex(Sessions())
  private let sessionCount = Atomic(0)
  /// The size of all rows in bytes. It is atomic because transfer loops read it.
  private let size = Atomic(0)
  /// Always empty: no row in memory is unreadable.
  private let unreadable = UnreadableRows()

  package init() {}

  /// The estimated size of all rows, in bytes.
  package var memorySize: Int { size.load(ordering: .relaxed) }
  /// Always `nil`: the process owns all ephemeral sessions in its memory.
  package var epoch: Epoch? { nil }

  /// Whether the ledger has no session and hence no rows. It takes no lock, so that a service without ephemeral sessions has no cost.
  package var isEmpty: Bool { sessionCount.load(ordering: .acquiring) == 0 }

  package func contains(_ session: SessionID) -> Bool {
    !isEmpty && sessions.withLock { $0.ids.contains(session) }
  }

  /// Records that the session's changes belong in memory from now on.
  package func add(_ session: SessionID) { change { $0.ids.insert(session) } }

  private func change<Result>(_ body: (inout Sessions) -> Result) {
    sessions.withLock { sessions in
      _ = body(&sessions)
      sessionCount.store(sessions.ids.count, ordering: .releasing)
    }
  }

  package func read<T>(_ body: (RowReader) throws(LedgerError) -> T) throws(LedgerError) -> T {
    let result = state.withLock { state -> Result<T, LedgerError> in
      guard !state.isClosed else { return .failure(.unavailable("the ledger is closed")) }
      do throws(LedgerError) {
        return .success(try body(RowReader(state.rows, unreadable)))
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  /// Deletes all rows. Every later read fails.
  package func close() {
    state.withLock { state in
      state.rows = MemoryRows()
      state.isClosed = true
    }
  }

  package func write(
    _ change: LedgerChange, after last: Int64
  ) -> Result<[JournalFragment], LedgerError> {
    var change = change
    // Credentials and cookies of ephemeral sessions are not stored.
    (change.credentials, change.deletedCredentials, change.cookies) = ([], [], [])
    let written: Result<[JournalFragment], LedgerError> = state.withLock { state in
      if let obstacle = state.rows.error(to: change) { return .failure(obstacle) }
      var sequence = last
      let fragments = JournalFragment.render(
        change.events, state.rows.tenants(for: change), &sequence, tags: change.tags)
      if !change.isProgressOnly { state.rows.write(change, fragments) }
      size.store(state.rows.memorySize, ordering: .relaxed)
      return .success(fragments)
    }
    // A session whose creation was refused has no rows, so its id is removed again.
    if case .failure = written, let session = change.sessions.first?.id,
      state.withLock({ !$0.rows.sessions.contains(session) })
    {
      self.change { $0.ids.remove(session) }
    }
    if let session = change.deletedSession { remember(session) }
    return written
  }

  /// Keeps the id of a deleted session. Above the limit, removes the oldest ids, except those of sessions with deliveries left.
  private func remember(_ session: SessionID) {
    let oldest = sessions.withLock { $0.delete(session) }
    guard !oldest.isEmpty else { return }
    let awaited = state.withLock { state in oldest.filter { state.rows.deliveries.hasAny(of: $0) } }
    change { sessions in
      for session in oldest {
        if awaited.contains(session) { sessions.append(session) } else { sessions.ids.remove(session) }
      }
    }
  }
}

extension MemoryLedger.Sessions {
  /// Records a deletion.
  /// - Returns: the oldest deleted sessions if there are too many. At most two, so that the number shrinks over several calls.
  fileprivate mutating func delete(_ session: SessionID) -> [SessionID] {
    append(session)
    let excess = min(2, max(0, deleted.count - MemoryLedger.maximumDeletedIDs))
    let oldest = deleted.all().prefix(excess).map(\.key)
    deleted.remove(oldest)
    return oldest.map(\.session)
  }

  fileprivate mutating func append(_ session: SessionID) {
    deletions += 1
    deleted.insert(MemoryLedger.Deletion(number: deletions, session: session))
  }
}

extension MemoryRows {
  /// Returns the tenant of the change's session.
  fileprivate func tenants(for change: LedgerChange) -> [SessionID: Tenant] {
    guard let session = change.owner, !change.events.isEmpty else { return [:] }
    let tenant = change.sessions.first?.tenant ?? sessions[session]?.session.tenant
    return tenant.map { [session: $0] } ?? [:]
  }
}

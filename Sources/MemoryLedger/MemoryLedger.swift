package import Ledger
internal import Synchronization
package import TransferModel

/// The records of ephemeral sessions: rows in this process's memory. They take their event numbers from a durable ledger
/// (`CompositeLedger`).
package final class MemoryLedger: RecordsInMemory, NumberedWriter {
  /// Ids of deleted sessions that are remembered: what comes late must not reach the disk.
  package static let rememberedSessions = 10_000

  private struct State {
    var rows = MemoryRows()
    var isClosed = false
  }
  /// Which sessions are in memory.
  fileprivate struct Sessions {
    var ids: Set<SessionID> = []
    /// Deleted ones among them, the oldest first.
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
  /// Atomic: transfer loops read it.
  private let size = Atomic(0)
  /// No row in memory is unreadable.
  private let unreadable = UnreadableRows()

  package init() {}

  /// Estimated bytes of all rows.
  package var memorySize: Int { size.load(ordering: .relaxed) }
  /// All sessions are the process's own.
  package var epoch: Epoch? { nil }

  /// Whether it knows no session: it has no rows then. No lock is taken, so that a service without ephemeral sessions pays nothing.
  package var knowsNoSession: Bool { sessionCount.load(ordering: .acquiring) == 0 }

  package func contains(_ session: SessionID) -> Bool {
    !knowsNoSession && sessions.withLock { $0.ids.contains(session) }
  }

  /// From here on, what is about the session is in memory.
  package func add(_ session: SessionID) { change { $0.ids.insert(session) } }

  private func change<Result>(_ body: (inout Sessions) -> Result) {
    sessions.withLock { sessions in
      _ = body(&sessions)
      sessionCount.store(sessions.ids.count, ordering: .releasing)
    }
  }

  package func read<T>(_ body: (RowReader) throws(StoreError) -> T) throws(StoreError) -> T {
    let result = state.withLock { state -> Result<T, StoreError> in
      guard !state.isClosed else { return .failure(.unavailable("the ledger is closed")) }
      do throws(StoreError) {
        return .success(try body(RowReader(state.rows, unreadable)))
      } catch {
        return .failure(error)
      }
    }
    return try result.get()
  }

  /// Forgets all rows. From here on nothing can be read.
  package func close() {
    state.withLock { state in
      state.rows = MemoryRows()
      state.isClosed = true
    }
  }

  package func write(
    _ change: StoreChange, after last: Int64
  ) -> Result<[JournalFragment], StoreError> {
    var change = change
    // An ephemeral session's credentials and cookies are not recorded.
    (change.credentials, change.deletedCredentials, change.cookies) = ([], [], [])
    let written: Result<[JournalFragment], StoreError> = state.withLock { state in
      if let obstacle = state.rows.obstacle(to: change) { return .failure(obstacle) }
      var sequence = last
      let fragments = JournalFragment.render(change.events, state.rows.tenants(for: change), &sequence)
      if !change.isProgressOnly { state.rows.write(change, fragments) }
      size.store(state.rows.memorySize, ordering: .relaxed)
      return .success(fragments)
    }
    // A session whose creation is refused is nobody's.
    if case .failure = written, let session = change.sessions.first?.id,
      state.withLock({ !$0.rows.sessions.contains(session) })
    {
      self.change { $0.ids.remove(session) }
    }
    if let session = change.deletedSession { remember(session) }
    return written
  }

  /// Remembers a deleted session. Beyond the limit, drops the oldest ids, unless messages of the session are left.
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
  /// - Returns: the oldest deleted sessions, if there are too many: at most two, so that there are fewer next time.
  fileprivate mutating func delete(_ session: SessionID) -> [SessionID] {
    append(session)
    let excess = min(2, max(0, deleted.count - MemoryLedger.rememberedSessions))
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
  /// The tenant of the session that a change is about.
  fileprivate func tenants(for change: StoreChange) -> [SessionID: Tenant] {
    guard let session = change.owner, !change.events.isEmpty else { return [:] }
    let tenant = change.sessions.first?.tenant ?? sessions[session]?.session.tenant
    return tenant.map { [session: $0] } ?? [:]
  }
}

package import Ledger
internal import Synchronization
package import TransferModel

/// The records of ephemeral sessions: rows in this process's memory. They take their event numbers from a durable ledger
/// (`CompositeLedger`).
package final class MemoryLedger: RecordsInMemory, NumberedWriter {
  /// Ids of deleted sessions that are remembered: what comes late must not reach the disk.
  package static let rememberedSessions = 10_000

  fileprivate struct State {
    var rows = MemoryRows()
    var sessions: Set<SessionID> = []
    /// Deleted ones among them, the oldest first.
    var deleted = SortedKeys<Deletion>()
    var deletions = 0
    var isClosed = false
  }
  fileprivate struct Deletion: Comparable {
    let number: Int
    let session: SessionID
    static func < (left: Self, right: Self) -> Bool { left.number < right.number }
  }
  private let state = Mutex(State())
  /// Beside the lock: transfer loops ask for it.
  private let size = Atomic(0)

  package init() {}

  /// Bytes of all rows; about.
  package var memorySize: Int { size.load(ordering: .relaxed) }
  /// All sessions are the process's own.
  package var epoch: Epoch? { nil }

  /// Whether there was no session yet, or none that is remembered.
  package var isEmpty: Bool { state.withLock { $0.sessions.isEmpty } }

  package func contains(_ session: SessionID) -> Bool {
    state.withLock { $0.sessions.contains(session) }
  }

  /// From here on, what is about the session is in memory.
  package func add(_ session: SessionID) { state.withLock { _ = $0.sessions.insert(session) } }

  package func read<T>(_ body: (RowReader) throws(StoreError) -> T) throws(StoreError) -> T {
    let result = state.withLock { state -> Result<T, StoreError> in
      guard !state.isClosed else { return .failure(.unavailable("the ledger is closed")) }
      do throws(StoreError) {
        return .success(try body(RowReader(state.rows, UnreadableRows())))
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
    // Those of ephemeral sessions are where they are used, and nowhere else.
    (change.credentials, change.deletedCredentials, change.cookies) = ([], [], [])
    return state.withLock { state in
      if let obstacle = state.rows.obstacle(to: change) { return .failure(obstacle) }
      var sequence = last
      let fragments = JournalFragment.render(change.events, state.rows.tenants(for: change), &sequence)
      if !change.isProgressOnly { state.rows.write(change, fragments) }
      if let session = change.deletedSession { state.forget(session) }
      size.store(state.rows.memorySize, ordering: .relaxed)
      return .success(fragments)
    }
  }
}

extension MemoryLedger.State {
  fileprivate mutating func forget(_ session: SessionID) {
    deletions += 1
    deleted.insert(MemoryLedger.Deletion(number: deletions, session: session))
    guard deletions > MemoryLedger.rememberedSessions, let oldest = deleted.first?.key else { return }
    deleted.remove(oldest)
    sessions.remove(oldest.session)
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

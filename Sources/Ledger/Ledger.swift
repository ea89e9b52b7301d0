/// Ferry's records. A committed change survives a crash and a power failure, if the ledger is durable.
package protocol Ledger: TaskRecords, GroupRecords, SessionRecords, JournalRecords, ProcessQueues,
  OutboxRecords
{
  /// Queues a change and returns at once. The changes of a session are written in the order of the calls.
  func append(_ entry: CommitEntry)

  /// Returns the expiring records of the durable ledger or of memory.
  func retentionRecords(in place: StorageTier) -> any RetentionRecords

  /// Looks for commits of other processes and publishes them to streams. Returns at once.
  func publishRemoteCommits()

  /// This process's epoch; `nil` before the process has joined.
  var epoch: Epoch? { get }

  /// Returns the owners of all shards, and the worker, as last committed.
  func ownership() async throws(LedgerError) -> OwnershipTable

  /// The rows that could not be read since the start. They stay in the database, and lists omit them. Reading such a row by its id throws.
  var unreadable: UnreadableRows { get }

  /// The error for which facts cannot be written yet; `nil` if no facts are waiting.
  var refusal: LedgerError? { get }

  /// The sequence number of the newest event.
  var lastSequence: Int64 { get }
  /// Upper bound of the event numbers assigned so far, reservations included.
  var highestSequence: Int64 { get }

  /// Calls `answer` between two commits, even while the disk refuses all writes. No call means that the ledger hangs.
  func ping(_ answer: @escaping @Sendable () -> Void)

  /// Writes all pending changes and closes the ledger. No function may be called afterwards.
  func close() async
}

extension Ledger {
  /// Writes a change that a client asked for, whole or not at all.
  /// - Parameter done: called once, in call order per session, with `nil` after the commit. After an error, nothing is written.
  package func commit(_ change: LedgerChange, done: @escaping @Sendable (LedgerError?) -> Void) {
    append(.request(change, done: done))
  }

  /// Writes a fact, and retries until it is committed.
  /// - Parameter settled: called once, in call order per session. It receives `false` if another process owns the session.
  package func record(_ change: LedgerChange, settled: @escaping @Sendable (_ isWritten: Bool) -> Void) {
    append(.fact(change, settled: settled))
  }

  /// Writes a change that a client asked for, whole or not at all, and returns after the commit.
  package func write(_ change: LedgerChange) async throws(LedgerError) {
    let error = await withCheckedContinuation { (continuation: CheckedContinuation<LedgerError?, Never>) in
      commit(change) { continuation.resume(returning: $0) }
    }
    if let error { throw error }
  }

  /// Writes a fact, and retries until it is committed.
  /// - Parameter committed: called after the commit, but not if another process owns the session.
  package func record(_ change: LedgerChange, committed: @escaping @Sendable () -> Void = {}) {
    record(change) { (isWritten: Bool) in if isWritten { committed() } }
  }
}

/// Ferry's records. A committed change survives a crash and a power failure, if the ledger is durable.
package protocol Ledger: TaskRecords, KeptRecords, JournalRecords, ProcessQueues, OutboxRecords {
  /// Takes a change to be written. Returns at once. The changes of a session are written in the order of the calls.
  func append(_ entry: CommitEntry)

  /// The expiring records of one ledger.
  func retained(in place: RetainedPlace) -> any RetentionRecords

  /// Looks for commits of other processes and publishes them to streams. Returns at once.
  func follow()

  /// This process's epoch; nil before it takes part.
  var epoch: Epoch? { get }

  /// The owners of all shards, and the worker, as last committed.
  func ownership() async throws(StoreError) -> OwnershipTable

  /// The rows that could not be read since the start. They stay in the database and are omitted from lists. Reading one by its id throws
  /// its error.
  var unreadable: UnreadableRows { get }

  /// The error for which facts cannot be written yet; nil if no facts are waiting.
  var refusal: StoreError? { get }

  /// The sequence number of the newest event.
  var lastSequence: Int64 { get }
  /// Upper bound of the event numbers assigned so far, reservations included.
  var highestSequence: Int64 { get }

  /// Calls `answer` between two commits: it comes if the ledger is alive, even while the disk refuses all writes.
  func ping(_ answer: @escaping @Sendable () -> Void)

  /// Writes what is pending and closes. Nothing may be called afterwards.
  func close() async
}

extension Ledger {
  /// Writes a change that a client asked for, whole or not at all.
  /// - Parameter done: called once, in call order per session; with nil after the commit. After an error nothing is written.
  package func commit(_ change: StoreChange, done: @escaping @Sendable (StoreError?) -> Void) {
    append(.request(change, done: done))
  }

  /// Writes a fact, and retries until it is committed.
  /// - Parameter settled: called once, in call order per session; with false, and nothing written, if another process owns the session.
  package func record(_ change: StoreChange, settled: @escaping @Sendable (_ isWritten: Bool) -> Void) {
    append(.fact(change, settled: settled))
  }

  /// Writes a change that a client asked for; returns once it is committed, or fails and leaves nothing.
  package func write(_ change: StoreChange) async throws(StoreError) {
    let error = await withCheckedContinuation { (continuation: CheckedContinuation<StoreError?, Never>) in
      commit(change) { continuation.resume(returning: $0) }
    }
    if let error { throw error }
  }

  /// Writes a fact, and retries until it is committed.
  /// - Parameter committed: called after the commit; never if another process owns the session.
  package func record(_ change: StoreChange, committed: @escaping @Sendable () -> Void = {}) {
    record(change) { (isWritten: Bool) in if isWritten { committed() } }
  }
}

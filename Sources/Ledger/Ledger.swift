/// What Ferry remembers. Committed means on disk: it survives the process and the power. What is of an ephemeral session
/// is in memory alone.
package protocol Ledger: TaskRecords, KeptRecords, JournalRecords, ProcessQueues, RetentionRecords,
  OutboxRecords
{
  /// Writes a change that a client asked for, whole or not at all.
  /// - Parameter done: called once it is committed, in the order of the calls; or with why it is not: then it leaves nothing.
  func commit(_ change: StoreChange, done: @escaping @Sendable (StoreError?) -> Void)

  /// Writes what has happened anyway. It is tried until it holds; `settled` is called then, in the order of the calls. It is called with
  /// false where the session is another process's by now: that one finds out by itself, and nothing is written.
  func record(_ change: StoreChange, settled: @escaping @Sendable (_ isWritten: Bool) -> Void)

  /// Looks for what other processes have committed, and tells streams of it. It returns at once.
  func follow()

  /// The one under which this process takes part; nil: it does not.
  var epoch: Epoch? { get }

  /// Who owns what, as it was committed last.
  func ownership() async throws(StoreError) -> OwnershipTable

  /// The rows that could not be read since the start. They are left as they are, and out of all lists; who asks for one by its
  /// name gets the error.
  var unreadable: UnreadableRows { get }

  /// Why the disk refuses facts, which wait for it; nil where none wait.
  var refusal: StoreError? { get }

  /// The sequence number of the newest event.
  var lastSequence: Int64 { get }
  /// No event has a greater number, of whatever process, as far as this one has looked.
  var highestSequence: Int64 { get }

  /// Calls `answer` between two commits: it comes if the ledger is alive, even while the disk refuses all writes.
  func ping(_ answer: @escaping @Sendable () -> Void)

  /// Writes what is pending and closes. Nothing may be called afterwards.
  func close() async
}

extension Ledger {
  /// Writes a change that a client asked for; returns once it is committed, or fails and leaves nothing.
  package func write(_ change: StoreChange) async throws(StoreError) {
    let error = await withCheckedContinuation { (continuation: CheckedContinuation<StoreError?, Never>) in
      commit(change) { continuation.resume(returning: $0) }
    }
    if let error { throw error }
  }

  /// Writes what has happened anyway.
  /// - Parameter committed: called once it holds; never where the session is another process's.
  package func record(_ change: StoreChange, committed: @escaping @Sendable () -> Void = {}) {
    record(change) { (isWritten: Bool) in if isWritten { committed() } }
  }
}

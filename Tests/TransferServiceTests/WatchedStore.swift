import TransferModel

@testable import TransferStore

/// A store that a test can stop at certain moments.
final class WatchedStore: Ledger {
  struct Moments: Sendable {
    /// Behind the commit of what a client asked for, before the caller knows.
    var committed: @Sendable (StoreChange) async -> Void = { _ in }
    /// Something is recorded.
    var recorded: @Sendable (StoreChange) -> Void = { _ in }
    /// Somebody asks whether it takes writes.
    var asked: @Sendable () -> Void = {}
  }
  private let store: SQLiteStore
  private let moments: Moments

  init(_ store: SQLiteStore, _ moments: Moments) {
    self.store = store
    self.moments = moments
  }

  func commit(_ change: StoreChange, done: @escaping @Sendable (StoreError?) -> Void) {
    let committed = moments.committed
    store.commit(change) { error in
      guard error == nil else { return done(error) }
      Task {
        await committed(change)
        done(nil)
      }
    }
  }
  func record(_ change: StoreChange, settled: @escaping @Sendable (Bool) -> Void) {
    moments.recorded(change)
    store.record(change, settled: settled)
  }
  var epoch: Epoch? { store.epoch }
  func ownership() async throws(StoreError) -> OwnershipTable { try await store.ownership() }
  func follow() { store.follow() }
  var refusal: StoreError? {
    moments.asked()
    return store.refusal
  }
  var unreadable: UnreadableRows { store.unreadable }
  var lastSequence: Int64 { store.lastSequence }
  var highestSequence: Int64 { store.highestSequence }
  var taskRecords: any TaskRecords { store.taskRecords }
  var keptRecords: any KeptRecords { store.keptRecords }
  var journalRecords: any JournalRecords { store.journalRecords }
  var processQueues: any ProcessQueues { store.processQueues }
  var retentionRecords: any RetentionRecords { store.retentionRecords }
  var outboxRecords: any OutboxRecords { store.outboxRecords }
  func fingerprints(of digest: [UInt8]) -> [[UInt8]] { store.fingerprints(of: digest) }
  func close() async { await store.close() }
}

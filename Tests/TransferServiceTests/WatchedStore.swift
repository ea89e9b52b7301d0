import Ledger
import SQLiteLedger

/// A store that a test can stop at certain moments.
final class WatchedStore: ForwardingLedger {
  struct Moments: Sendable {
    /// Behind the commit of what a client asked for, before the caller knows.
    var committed: @Sendable (StoreChange) async -> Void = { _ in }
    /// Something is recorded.
    var recorded: @Sendable (StoreChange) -> Void = { _ in }
    /// Somebody asks whether it takes writes.
    var asked: @Sendable () -> Void = {}
  }
  let base: SQLiteLedger
  private let moments: Moments

  init(_ store: SQLiteLedger, _ moments: Moments) {
    base = store
    self.moments = moments
  }

  func commit(_ change: StoreChange, done: @escaping @Sendable (StoreError?) -> Void) {
    let committed = moments.committed
    base.commit(change) { error in
      guard error == nil else { return done(error) }
      Task {
        await committed(change)
        done(nil)
      }
    }
  }
  func record(_ change: StoreChange, settled: @escaping @Sendable (Bool) -> Void) {
    moments.recorded(change)
    base.record(change, settled: settled)
  }
  var refusal: StoreError? {
    moments.asked()
    return base.refusal
  }
}

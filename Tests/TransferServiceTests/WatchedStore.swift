import Ledger

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
  let base: any Ledger
  private let moments: Moments

  init(_ store: any Ledger, _ moments: Moments) {
    base = store
    self.moments = moments
  }

  func append(_ entry: CommitEntry) {
    guard case .request(let change, let done) = entry else {
      moments.recorded(entry.change)
      return base.append(entry)
    }
    let committed = moments.committed
    base.commit(change) { error in
      guard error == nil else { return done(error) }
      Task {
        await committed(change)
        done(nil)
      }
    }
  }
  var refusal: StoreError? {
    moments.asked()
    return base.refusal
  }
}

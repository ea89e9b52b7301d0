import Ledger
import TransferModel

/// A ledger that calls a test at certain moments.
final class ObservedLedger: ForwardingLedger {
  struct Moments: Sendable {
    /// Called after the commit of a client's change, before the caller is notified.
    var committed: @Sendable (LedgerChange) async -> Void = { _ in }
    /// Called when something is recorded.
    var recorded: @Sendable (LedgerChange) -> Void = { _ in }
    /// Called when the service asks whether the ledger accepts writes.
    var asked: @Sendable () -> Void = {}
    /// Called when the tasks of a group are counted.
    var counted: @Sendable () -> Void = {}
    /// Returns the fault of a group's row; `nil` if it is readable.
    var unreadable: @Sendable (TaskGroupKey) -> UnreadableRow? = { _ in nil }
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
  func group(_ key: TaskGroupKey) async throws(LedgerError) -> TaskGroup? {
    if let fault = moments.unreadable(key) { throw .unreadable(fault) }
    return try await base.group(key)
  }

  func counts(of key: TaskGroupKey) async throws(LedgerError) -> GroupCounts {
    moments.counted()
    return try await base.counts(of: key)
  }

  func counts(ofTenant tenant: Tenant) async throws(LedgerError) -> GroupCounts {
    try await base.counts(ofTenant: tenant)
  }

  var refusal: LedgerError? {
    moments.asked()
    return base.refusal
  }
}

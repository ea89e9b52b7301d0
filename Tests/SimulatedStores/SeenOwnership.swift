internal import Ledger
internal import MemoryLedger
internal import TransferCore
internal import TransferModel

/// What a process may write, by who owns what as a change finds it: as it is inside of the transaction, unless somebody wants a fault.
struct SeenOwnership {
  /// The one under which the process takes part; nil: it does not.
  var epoch: Epoch?
  /// It carries background tasks out.
  private var isWorker = false
  /// At the change before.
  private var last: OwnershipTable?

  mutating func table(_ rows: inout MemoryRows) -> OwnershipTable {
    if Flaw.renewsALeaseThatEnded.isPresent, let epoch {
      if isWorker { rows.ownership.worker = epoch } else { rows.ownership.processes[epoch] = "" }
    }
    guard Flaw.readsTheFenceBefore.isPresent else { return rows.ownership }
    defer { last = rows.ownership }
    guard let last, epoch != nil, !isFencedOff(by: last) else { return rows.ownership }
    return last
  }

  /// Whether another process has taken over from this one.
  func isFencedOff(by table: OwnershipTable) -> Bool {
    guard let epoch, !Flaw.ignoresTheFence.isPresent else { return false }
    return isWorker ? table.worker != epoch : table.processes[epoch] == nil
  }

  /// Whether the process may write what is about that session.
  func admits(_ session: SessionID?, _ table: OwnershipTable) -> Bool {
    guard let epoch, let session, !isWorker, !Flaw.ignoresTheFence.isPresent else { return true }
    return table.owner(of: session.shard) == epoch
  }

  /// - Returns: false where that cannot be done; then nothing is written.
  mutating func write(_ change: OwnershipChange, _ rows: inout MemoryRows) -> Bool {
    if case .takesWork = change { isWorker = true }
    return rows.write(change, by: &epoch)
  }
}

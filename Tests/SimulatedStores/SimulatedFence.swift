internal import Ledger
internal import MemoryLedger
internal import TransferCore
internal import TransferModel

/// The fence of a process: what it may write, by the ownership inside the transaction. Injected faults use an older ownership.
struct SimulatedFence {
  /// The epoch of the process; `nil` before it has joined.
  var epoch: Epoch?
  /// Whether the process is the worker.
  private var isWorker = false
  /// The ownership at the previous change.
  private var last: OwnershipTable?

  mutating func table(_ rows: inout MemoryRows) -> OwnershipTable {
    if InjectedFault.renewsALeaseThatEnded.isPresent, let epoch {
      if isWorker { rows.ownership.worker = epoch } else { rows.ownership.processes[epoch] = "" }
    }
    guard InjectedFault.readsTheFenceBefore.isPresent else { return rows.ownership }
    defer { last = rows.ownership }
    guard let last, epoch != nil, !isFencedOff(by: last) else { return rows.ownership }
    return last
  }

  /// Returns whether another process has taken over from this one.
  func isFencedOff(by table: OwnershipTable) -> Bool {
    guard let epoch, !InjectedFault.ignoresTheFence.isPresent else { return false }
    return isWorker ? table.worker != epoch : table.processes[epoch] == nil
  }

  /// Returns whether the process may write changes of the session.
  func admits(_ session: SessionID?, _ table: OwnershipTable) -> Bool {
    guard let epoch, let session, !isWorker, !InjectedFault.ignoresTheFence.isPresent else { return true }
    return table.owner(of: session.shard) == epoch
  }

  /// - Returns: `false` if the change is not allowed; then nothing is written.
  mutating func write(_ change: OwnershipChange, _ rows: inout MemoryRows) -> Bool {
    if case .becomesWorker = change { isWorker = true }
    return rows.write(change, by: &epoch)
  }
}

internal import TransferCore
internal import TransferStore

/// Who owns what, as a change finds it: as it is inside of the transaction, unless somebody wants a fault.
struct SeenOwnership {
  /// At the change before.
  private var last: OwnershipTable?

  /// - Parameter epoch: whose change it is.
  mutating func table(of epoch: Epoch?, _ rows: inout MemoryRows) -> OwnershipTable {
    if Flaw.renewsALeaseThatEnded.isPresent, let epoch { rows.ownership.processes[epoch] = "" }
    guard Flaw.readsTheFenceBefore.isPresent else { return rows.ownership }
    defer { last = rows.ownership }
    guard let epoch, let last, last.processes[epoch] != nil else { return rows.ownership }
    return last
  }
}

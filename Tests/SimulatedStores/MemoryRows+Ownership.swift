internal import Ledger
internal import MemoryLedger
internal import TransferModel

extension MemoryRows {
  /// Writes a change of ownership.
  /// - Parameter epoch: the epoch of the writing process, which is assigned when the process joins.
  /// - Returns: `false` if the change is not allowed; then nothing is written.
  mutating func write(_ change: OwnershipChange, by epoch: inout Epoch?) -> Bool {
    switch change {
    case .joins(let address):
      lastEpoch += 1
      epoch = lastEpoch
      ownership.processes[lastEpoch] = address
    case .takesOver(let notFound):
      guard let epoch else { return false }
      for process in notFound where process != epoch { remove(process) }
      let shards = ShardSet(Shard.all.filter { ownership.processes[ownership.owner(of: $0)] == nil })
      withdrawDecisions(in: shards)
      give(shards, to: epoch)
    case .retires:
      guard let epoch else { return false }
      ownership.retiring.insert(epoch)
    case .handsOver(let shards, let receiver):
      guard let epoch, ownership.mayReceive(receiver) else { return false }
      give(shards.intersection(ownership.shards(of: epoch)), to: receiver)
    case .leaves:
      guard let epoch else { return false }
      remove(epoch)
    case .becomesWorker:
      lastEpoch += 1
      epoch = lastEpoch
      ownership.worker = lastEpoch
    }
    return true
  }

  private mutating func remove(_ process: Epoch) {
    ownership.processes[process] = nil
    ownership.retiring.remove(process)
  }

  private mutating func give(_ shards: ShardSet, to epoch: Epoch) {
    for shard in shards.shards { ownership.owners[Int(shard.number)] = epoch }
  }

  /// Withdraws the pending decisions of dead processes. Decisions of background tasks belong to the worker and stay.
  private mutating func withdrawDecisions(in shards: ShardSet) {
    for (id, decision) in decisions.all()
    where decision.state == .pending && shards.contains(decision.sessionID.shard)
      && sessions[decision.sessionID]?.session.type != .background
    {
      decisions.change(id) { $0.state = .withdrawn }
    }
  }
}

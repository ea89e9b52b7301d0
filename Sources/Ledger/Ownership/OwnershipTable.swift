/// The number of one life of a process. A later life has a greater number; 0 belongs to no process.
package typealias Epoch = Int64

/// The processes that share the ledger, and the owner of each shard.
package struct OwnershipTable: Sendable, Equatable {
  /// The address of each process that takes part.
  package var processes: [Epoch: String]
  /// The processes that are about to leave. They receive no further shards.
  package var retiring: Set<Epoch> = []
  /// The owner of each shard, by the shard's number.
  package var owners: [Epoch]
  /// The worker's epoch; 0 if no worker has started yet.
  package var worker: Epoch = 0

  package init(processes: [Epoch: String] = [:], owners: [Epoch] = Array(repeating: 0, count: Shard.count)) {
    self.processes = processes
    self.owners = owners
  }

  /// Returns whether a process may be given shards.
  package func mayReceive(_ process: Epoch) -> Bool {
    processes[process] != nil && !retiring.contains(process)
  }
  package func owner(of shard: Shard) -> Epoch { owners[Int(shard.number)] }
  package func shards(of process: Epoch) -> ShardSet {
    ShardSet(Shard.all.filter { owner(of: $0) == process })
  }
}

/// A change of ownership.
package enum OwnershipChange: Sendable, Equatable {
  /// The process joins and gets an epoch. Its writes succeed until another process takes over from it.
  /// - Parameter address: the address at which other processes reach it.
  case joins(address: String)
  /// Dead and frozen processes are removed, and their later writes fail. This process gets their shards and all shards without an owner.
  /// The pending decisions of their sessions are withdrawn, except those of background sessions.
  case takesOver([Epoch])
  /// The process is about to leave and receives no further shards.
  case retires
  /// The shards get another owner. Refused with `LedgerError.notOwner` if that process has not joined or is about to leave.
  case handsOver(ShardSet, to: Epoch)
  /// The process leaves. It owns no shards by then.
  case leaves
  /// The process becomes the worker and gets an epoch. All later writes of an earlier worker fail.
  case becomesWorker
}

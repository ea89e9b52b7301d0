/// Which life of a process something belongs to: each gets a greater number than those before it. 0 is nobody's.
package typealias Epoch = Int64

/// Which processes share the ledger, and which of them owns the sessions of each shard.
package struct OwnershipTable: Sendable, Equatable {
  /// Processes that take part, and where each is reached.
  package var processes: [Epoch: String]
  /// Those of them that are about to leave: they get nothing any more.
  package var retiring: Set<Epoch> = []
  /// By the shard's number.
  package var owners: [Epoch]
  /// Of the process that carries background tasks out; 0: none has begun to.
  package var worker: Epoch = 0

  package init(processes: [Epoch: String] = [:], owners: [Epoch] = Array(repeating: 0, count: Shard.count)) {
    self.processes = processes
    self.owners = owners
  }

  /// Whether a process can be given shards.
  package func mayReceive(_ process: Epoch) -> Bool {
    processes[process] != nil && !retiring.contains(process)
  }
  package func owner(of shard: Shard) -> Epoch { owners[Int(shard.number)] }
  package func shards(of process: Epoch) -> ShardSet {
    ShardSet(Shard.all.filter { owner(of: $0) == process })
  }
}

/// A change to who owns what.
package enum OwnershipChange: Sendable, Equatable {
  /// The process takes part from here on and gets an epoch. What it writes is written only while nobody has taken over from it.
  /// - Parameter address: where other processes reach it.
  case enters(address: String)
  /// Processes that are gone, or stand still, take no part any more: nothing of theirs is written, their shards are this one's, and whoever
  /// was asked on behalf of them is asked no more. With those goes what nobody owns.
  case takesOver([Epoch])
  /// The process is about to leave: nobody gives it shards from here on.
  case retires
  /// Shards are another's from here on. Refused where that one takes no part, or is about to leave (`StoreError.notOwner`).
  case handsOver(ShardSet, to: Epoch)
  /// The process takes no part any more. It owns nothing by then.
  case leaves
  /// The process carries the tasks of background sessions out from here on, and gets an epoch. Whoever did so before writes nothing
  /// any more.
  case takesWork
}

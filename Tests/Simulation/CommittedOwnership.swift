internal import Ledger
internal import TransferModel

/// A process that writes to the ledger.
enum Writer: Equatable, CustomStringConvertible {
  /// The number is that of its node.
  case service(Int)
  case worker(Int)

  var service: Int? { if case .service(let node) = self { node } else { nil } }
  var description: String {
    switch self {
    case .service(let node): "node-\(node)"
    case .worker(let node): "worker-\(node)"
    }
  }
}

/// The ownership of shards and of background tasks, derived from the commits.
struct CommittedOwnership {
  private var table = OwnershipTable()
  /// The epochs of services, by node.
  private var epochs: [Int: Epoch] = [:]
  private var lastEpoch: Epoch = 0
  /// The node of the current worker.
  private(set) var worker: Int?

  /// The number of services that have ever been members.
  var serviceCount: Int { epochs.count }

  /// Returns whether a service is a member.
  func isMember(_ node: Int) -> Bool { epochs[node].map { table.processes[$0] != nil } ?? false }

  func owns(_ session: SessionID, _ node: Int) -> Bool { table.owner(of: session.shard) == epochs[node] }

  /// - Returns: the shards that were taken over.
  mutating func take(_ change: OwnershipChange, of writer: Writer) -> ShardSet? {
    guard case .service(let node) = writer else {
      lastEpoch += 1
      if case .worker(let node) = writer { worker = node }
      return nil
    }
    switch change {
    case .joins(let address):
      lastEpoch += 1
      epochs[node] = lastEpoch
      table.processes[lastEpoch] = address
    case .takesOver(let gone):
      for epoch in gone { remove(epoch) }
      let free = ShardSet(Shard.all.filter { table.processes[table.owner(of: $0)] == nil })
      give(free, to: epochs[node])
      return free
    case .retires: if let epoch = epochs[node] { table.retiring.insert(epoch) }
    case .handsOver(let shards, let receiver):
      give(shards.intersection(epochs[node].map { table.shards(of: $0) } ?? ShardSet()), to: receiver)
    case .leaves: if let epoch = epochs[node] { table.processes[epoch] = nil }
    case .becomesWorker: assertionFailure("a service carries no background task out")
    }
    return nil
  }

  private mutating func remove(_ epoch: Epoch) {
    table.processes[epoch] = nil
    table.retiring.remove(epoch)
  }

  private mutating func give(_ shards: ShardSet, to epoch: Epoch?) {
    guard let epoch else { return }
    for shard in shards.shards { table.owners[Int(shard.number)] = epoch }
  }
}

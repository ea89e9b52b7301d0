internal import Ledger
internal import TransferModel

/// A process that writes.
enum Writer: Equatable, CustomStringConvertible {
  /// With the number of its node.
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

/// Which processes decide about what, by what was committed.
struct KnownOwners {
  private var table = OwnershipTable()
  /// Of services, by the numbers of their nodes.
  private var epochs: [Int: Epoch] = [:]
  private var lastEpoch: Epoch = 0
  /// The one that carries background tasks out.
  private(set) var worker: Int?

  /// Services that have ever taken part.
  var serviceCount: Int { epochs.count }

  /// Whether a service takes part.
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
    case .enters(let address):
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
    case .takesWork: assertionFailure("a service carries no background task out")
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

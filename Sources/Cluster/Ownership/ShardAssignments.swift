package import Ledger

/// The shards of this process and their states, as a plain value. It decides whether a request is admitted, sent elsewhere or made to wait.
///
/// A new shard of the process is `arriving` until its sessions are read. A shard that is to be handed over is `leaving`: it admits no
/// requests, and is handed over when the admitted ones have ended. It is `dropping` while its sessions are removed here.
package struct ShardAssignments: Sendable {
  package enum Admission: Sendable, Equatable {
    /// The request is admitted. The caller must call `release`.
    case here
    /// Another process owns the shard.
    case elsewhere(Epoch)
    /// The request must wait for a change and then try again.
    case wait
  }
  private enum ShardState: Equatable { case none, arriving, ready, leaving, dropping }
  private struct ShardEntry {
    var holding = ShardState.none
    var owner: Epoch = 0
    /// The number of admitted requests.
    var visits = 0
  }

  /// This process's epoch; `nil` before it joins.
  package private(set) var epoch: Epoch?
  private var places = [ShardEntry](repeating: ShardEntry(), count: Shard.count)
  /// The other processes that take part.
  package private(set) var others: Set<Epoch> = []
  /// The other processes that are about to leave.
  private var retiring: Set<Epoch> = []

  package init() {}

  private subscript(shard: Shard) -> ShardEntry {
    get { places[Int(shard.number)] }
    set { places[Int(shard.number)] = newValue }
  }

  private func shards(_ matches: (ShardEntry) -> Bool) -> ShardSet {
    var found = ShardSet()
    for (number, place) in places.enumerated() where matches(place) { found.insert(Shard(UInt8(number))) }
    return found
  }

  private mutating func review() {
    isAlone = others.isEmpty && places.allSatisfy { $0.holding == .ready || $0.holding == .leaving }
  }

  // MARK: State

  package var ready: ShardSet { shards { $0.holding == .ready } }
  package var arriving: ShardSet { shards { $0.holding == .arriving } }
  /// The shards whose sessions are here, even if they are about to be handed over.
  package var held: ShardSet { shards { $0.holding == .ready || $0.holding == .leaving } }
  /// Whether no other process takes part and all sessions are here.
  package private(set) var isAlone = false

  package func owner(of shard: Shard) -> Epoch { self[shard].owner }
  /// Returns whether the shard's sessions are here and stay.
  package func isReady(_ shard: Shard) -> Bool { self[shard].holding == .ready }
  /// Returns whether the shard's sessions are here, even if they are about to be handed over.
  package func holds(_ shard: Shard) -> Bool { [.ready, .leaving].contains(self[shard].holding) }
  package func isLeaving(_ shard: Shard) -> Bool { self[shard].holding == .leaving }

  /// The number of shards of each process that is not about to leave.
  package var counts: [Epoch: Int] {
    var counts: [Epoch: Int] = [:]
    for process in others.subtracting(retiring) { counts[process] = 0 }
    if let epoch { counts[epoch] = 0 }
    for place in places where counts[place.owner] != nil { counts[place.owner, default: 0] += 1 }
    return counts
  }

  /// Records the ownership from the ledger.
  /// - Returns: the new shards of this process, whose sessions have to be read before `arrived` is called.
  package mutating func update(
    _ owners: [Epoch], processes: Set<Epoch>, retiring: Set<Epoch> = [], as epoch: Epoch
  ) -> ShardSet {
    assert(owners.count == Shard.count, "each shard must have an owner")
    self.epoch = epoch
    others = processes.subtracting([epoch])
    self.retiring = retiring
    var arrived = ShardSet()
    defer { review() }
    for shard in Shard.all {
      let owner = owners[Int(shard.number)]
      self[shard].owner = owner
      switch (self[shard].holding, owner == epoch) {
      case (.none, true):
        self[shard].holding = .arriving
        arrived.insert(shard)
      case (.ready, false), (.arriving, false): self[shard].holding = .none
      // A leaving shard changes in `gave`, after its sessions here are dropped.
      case (.leaving, _), (.dropping, _), (.none, false), (.ready, true), (.arriving, true): break
      }
    }
    return arrived
  }

  /// Records that the sessions of these shards are read.
  package mutating func arrived(_ shards: ShardSet) {
    for shard in shards.shards where self[shard].holding == .arriving { self[shard].holding = .ready }
    review()
  }

  // MARK: Requests

  package mutating func admit(_ shard: Shard) -> Admission {
    let place = self[shard]
    switch place.holding {
    case .ready:
      self[shard].visits += 1
      return .here
    case .arriving, .leaving, .dropping: return .wait
    case .none: return others.contains(place.owner) ? .elsewhere(place.owner) : .wait
    }
  }

  /// - Returns: whether this was the last request of a leaving shard.
  package mutating func release(_ shard: Shard) -> Bool {
    assert(self[shard].visits > 0, "the shard has no running request")
    self[shard].visits -= 1
    return self[shard].visits == 0 && self[shard].holding == .leaving
  }

  // MARK: Handover

  /// Stops admitting requests to these shards.
  /// - Returns: the shards that were open.
  package mutating func close(_ shards: ShardSet) -> ShardSet {
    let closed = shards.intersection(ready)
    for shard in closed.shards { self[shard].holding = .leaving }
    return closed
  }

  /// The leaving shards without requests.
  package var vacant: ShardSet { shards { $0.holding == .leaving && $0.visits == 0 } }

  /// Cancels the handover of these shards.
  package mutating func reopen(_ shards: ShardSet) {
    for shard in shards.shards where self[shard].holding == .leaving {
      self[shard].holding = self[shard].owner == epoch ? .ready : .none
    }
    review()
  }

  /// Records that the shards belong to another process. Lists of their sessions here are incomplete from now on.
  package mutating func drop(_ shards: ShardSet) {
    for shard in shards.shards where self[shard].holding == .leaving { self[shard].holding = .dropping }
    review()
  }

  /// Records that the shards belong to another process and that none of their sessions is left here.
  package mutating func gave(_ shards: ShardSet, to receiver: Epoch) {
    for shard in shards.shards where self[shard].holding == .dropping {
      self[shard].holding = .none
      self[shard].owner = receiver
    }
    review()
  }

  // MARK: Fair shares

  /// The number of shards to hand over, and the receiver, so that shares differ by at most one; `nil` if they are fair already.
  package var surplus: (receiver: Epoch, count: Int)? {
    guard let epoch, !retiring.contains(epoch) else { return nil }
    let counts = counts
    let fair = Shard.count / counts.count
    guard let own = counts[epoch], own > fair + 1,
      let (poorest, poor) = counts.min(by: { ($0.value, $0.key) < ($1.value, $1.key) }), poor < fair
    else { return nil }
    return (poorest, min(own - fair, fair - poor))
  }
}

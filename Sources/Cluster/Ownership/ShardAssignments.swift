package import Ledger

/// Which shards this process owns, and how far it is with each: who may be let in here, who has to go elsewhere, and who waits.
///
/// A shard that becomes the process's own is `arriving` until its sessions are read. One that is to become another's is `leaving`: nobody
/// is let in, and it can go once those who were in are out.
package struct ShardAssignments: Sendable {
  package enum Admission: Sendable, Equatable {
    /// The caller is in, and owes a `leave`.
    case here
    /// Another process owns the shard.
    case elsewhere(Epoch)
    /// Nobody is let in for the moment: ask again when something has changed.
    case wait
  }
  private enum Holding: Equatable { case none, arriving, ready, leaving }
  private struct Place {
    var holding = Holding.none
    var owner: Epoch = 0
    /// Who is in.
    var visits = 0
  }

  /// This process's own; nil until it takes part.
  package private(set) var epoch: Epoch?
  private var places = [Place](repeating: Place(), count: Shard.count)
  /// The other processes that take part.
  package private(set) var others: Set<Epoch> = []
  /// Those of them that are about to leave.
  private var retiring: Set<Epoch> = []

  package init() {}

  private subscript(shard: Shard) -> Place {
    get { places[Int(shard.number)] }
    set { places[Int(shard.number)] = newValue }
  }

  private func shards(_ matches: (Place) -> Bool) -> ShardSet {
    var found = ShardSet()
    for (number, place) in places.enumerated() where matches(place) { found.insert(Shard(UInt8(number))) }
    return found
  }

  private mutating func review() {
    isAlone = others.isEmpty && places.allSatisfy { $0.holding == .ready || $0.holding == .leaving }
  }

  // MARK: What is known

  package var ready: ShardSet { shards { $0.holding == .ready } }
  package var arriving: ShardSet { shards { $0.holding == .arriving } }
  /// Those whose sessions are here, whether they stay or not.
  package var held: ShardSet { shards { $0.holding == .ready || $0.holding == .leaving } }
  /// No other process takes part, and all that the others had is here.
  package private(set) var isAlone = false

  package func owner(of shard: Shard) -> Epoch { self[shard].owner }
  /// Whether its sessions are here, and stay.
  package func isReady(_ shard: Shard) -> Bool { self[shard].holding == .ready }
  /// Whether its sessions are here, though they may be about to go.
  package func holds(_ shard: Shard) -> Bool { [.ready, .leaving].contains(self[shard].holding) }
  package func isLeaving(_ shard: Shard) -> Bool { self[shard].holding == .leaving }

  /// How many shards each of the processes owns that stay.
  package var counts: [Epoch: Int] {
    var counts: [Epoch: Int] = [:]
    for process in others.subtracting(retiring) { counts[process] = 0 }
    if let epoch { counts[epoch] = 0 }
    for place in places where counts[place.owner] != nil { counts[place.owner, default: 0] += 1 }
    return counts
  }

  /// What the ledger says of who owns what.
  /// - Returns: shards that have become this process's own: their sessions are to be read (`arrived`).
  package mutating func learn(
    _ owners: [Epoch], processes: Set<Epoch>, retiring: Set<Epoch> = [], as epoch: Epoch
  ) -> ShardSet {
    assert(owners.count == Shard.count, "an owner for each shard")
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
      // It goes with `gave`, when what was of it here is gone, too.
      case (.leaving, _), (.none, false), (.ready, true), (.arriving, true): break
      }
    }
    return arrived
  }

  /// The sessions of these shards are here.
  package mutating func arrived(_ shards: ShardSet) {
    for shard in shards.shards where self[shard].holding == .arriving { self[shard].holding = .ready }
    review()
  }

  // MARK: Visitors

  package mutating func enter(_ shard: Shard) -> Admission {
    let place = self[shard]
    switch place.holding {
    case .ready:
      self[shard].visits += 1
      return .here
    case .arriving, .leaving: return .wait
    case .none: return others.contains(place.owner) ? .elsewhere(place.owner) : .wait
    }
  }

  /// - Returns: whether it was the last of a shard that is to go.
  package mutating func leave(_ shard: Shard) -> Bool {
    assert(self[shard].visits > 0, "nobody is in")
    self[shard].visits -= 1
    return self[shard].visits == 0 && self[shard].holding == .leaving
  }

  // MARK: Handing over

  /// From here on nobody is let into these shards.
  /// - Returns: those that it is true of.
  package mutating func close(_ shards: ShardSet) -> ShardSet {
    let closed = shards.intersection(ready)
    for shard in closed.shards { self[shard].holding = .leaving }
    return closed
  }

  /// Shards that are to go, and in which nobody is.
  package var vacant: ShardSet { shards { $0.holding == .leaving && $0.visits == 0 } }

  /// They stay after all.
  package mutating func reopen(_ shards: ShardSet) {
    for shard in shards.shards where self[shard].holding == .leaving {
      self[shard].holding = self[shard].owner == epoch ? .ready : .none
    }
    review()
  }

  /// They are another's, and nothing of them is left here.
  package mutating func gave(_ shards: ShardSet, to receiver: Epoch) {
    for shard in shards.shards where self[shard].holding == .leaving {
      self[shard].holding = .none
      self[shard].owner = receiver
    }
    review()
  }

  // MARK: Fair shares

  /// How many shards another is to get, so that each process has as many as the others, or one more; nil: they have.
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

internal import EventLoop
internal import Ledger
internal import Synchronization
internal import TransferModel

/// Which process owns which sessions, as this one knows it: lets visitors in to what is here, says where the rest is, and keeps those
/// waiting whose sessions are on their way. It decides nothing: `ShardAssignments` does.
final class Owners: Sendable {
  private struct State {
    var assignments = ShardAssignments()
    var addresses: [Epoch: String] = [:]
    /// Under which background tasks are carried out; 0: nobody has begun to.
    var worker: Epoch = 0
    var waiting: [Waiter] = []
    /// As the ledger had it last.
    var table: OwnershipTable?
    /// Whether the ledger has this process among those that take part, as far as is known.
    var takesPart = true
    /// When the ledger was asked last.
    var lastLook: ContinuousClock.Instant?
    /// When shards were last given away: an older table shows them as still owned here.
    var gaveAt: ContinuousClock.Instant?
  }
  /// How long a request waits for a session that is being handed over.
  private static let patience = Duration.seconds(30)

  /// This service's epoch; 0 before it takes part.
  let epoch = Atomic<Epoch>(0)
  /// How long this service may rely on the owners that it read last; nil: without limit.
  private let lease: Duration?
  let uptime: @Sendable () -> ContinuousClock.Instant
  private let state = Mutex(State())

  init(lease: Duration?, uptime: @escaping @Sendable () -> ContinuousClock.Instant) {
    (self.lease, self.uptime) = (lease, uptime)
  }

  /// Whether this process can rely on what it knows. One that has stood still may have been taken over from: what it has in its memory is
  /// the past.
  private func isCurrent(_ state: borrowing State) -> Bool {
    guard let lease, let lastLook = state.lastLook else { return true }
    return uptime() - lastLook < lease
  }

  /// Whether this process may do what another one would do by now if it had taken over.
  var isCurrent: Bool { state.withLock { isCurrent($0) && $0.takesPart } }

  // MARK: Visitors

  /// Lets a visitor in to a shard, as soon as somebody owns it and its sessions are there. Never `unknown`.
  func enter(_ shard: Shard) async throws(ClusterError) -> Place {
    try await find("the session is being handed over to another service") { state in
      switch state.assignments.enter(shard) {
      case .here: .here(shard)
      case .elsewhere(let owner): state.addresses[owner].map { .elsewhere($0) }
      case .wait: nil
      }
    }
  }

  /// Returns once it is known who else takes part: one that stood still may have been taken over from meanwhile.
  func knowOthers() async throws(ClusterError) {
    try await find("it is not known which services there are") { _ in () }
  }

  /// Looks whenever something has changed, while what is known is current, until there is an answer.
  /// - Parameter fault: what a visitor is told who has waited for too long.
  private func find<Answer: Sendable>(
    _ fault: String, _ look: @Sendable (inout State) -> Answer?
  ) async throws(ClusterError) -> Answer {
    let deadline = uptime() + Self.patience
    while true {
      let waiter = Waiter()
      let answer = state.withLock { state -> Answer? in
        if isCurrent(state), let answer = look(&state) { return answer }
        state.waiting.append(waiter)
        return nil
      }
      if let answer { return answer }
      guard uptime() < deadline else {
        waiter.resume()
        throw .unavailable(fault)
      }
      await waiter.wait()
    }
  }

  func leave(_ shard: Shard) {
    let isVacant = state.withLock { $0.assignments.leave(shard) }
    if isVacant { wakeAll() }
  }

  /// Whoever waits looks again: something has changed, or time has passed.
  func wakeAll() {
    let waiting = state.withLock { state in
      defer { state.waiting = [] }
      return state.waiting
    }
    for waiter in waiting { waiter.resume() }
  }

  /// Returns when something has changed, or after a second.
  func change() async {
    let waiter = Waiter()
    state.withLock { $0.waiting.append(waiter) }
    await waiter.wait()
  }

  // MARK: What is known

  /// No other process takes part, and all that the others had is here.
  var isAlone: Bool { state.withLock { $0.assignments.isAlone && isCurrent($0) } }
  func isReady(_ shard: Shard) -> Bool { state.withLock { $0.assignments.isReady(shard) } }
  /// Whether its sessions are here, though they may be about to go.
  func holds(_ shard: Shard) -> Bool { state.withLock { $0.assignments.holds(shard) } }
  var ready: ShardSet { state.withLock { $0.assignments.ready } }
  var arriving: ShardSet { state.withLock { $0.assignments.arriving } }

  /// Lists what is in memory.
  /// - Returns: with it, the shards of which it lists all.
  func list<Items>(_ body: () throws -> Items) rethrows -> (Items, ShardSet) {
    func held() -> ShardSet { state.withLock { isCurrent($0) ? $0.assignments.held : ShardSet() } }
    let before = held()
    let items = try body()
    return (items, before.intersection(held()))
  }

  var surplus: (receiver: Epoch, count: Int)? { state.withLock { $0.assignments.surplus } }

  /// The addresses of the other processes that take part, the oldest first.
  var others: [String] {
    state.withLock { state in state.assignments.others.sorted().compactMap { state.addresses[$0] } }
  }

  /// Whether a process of that epoch takes part, or is the worker.
  func isLiving(_ epoch: Epoch) -> Bool {
    state.withLock { state in
      state.assignments.others.contains(epoch) || state.assignments.epoch == epoch || state.worker == epoch
    }
  }

  /// The process that began last does what is to be done once for all of them.
  var isYoungest: Bool {
    state.withLock { state in state.assignments.others.allSatisfy { $0 < state.assignments.epoch ?? 0 } }
  }

  /// Learns what the ledger says. A table that is older than the last one, or than the last handover, is ignored: it would show shards that
  /// were given away as still owned here.
  /// - Parameter time: when the ledger was asked.
  /// - Returns: false if the table was ignored.
  @discardableResult
  func learn(_ table: OwnershipTable, as epoch: Epoch, at time: ContinuousClock.Instant) -> Bool {
    let hasChanged: Bool? = state.withLock { state in
      if let last = state.lastLook, time < last { return nil }
      if let gaveAt = state.gaveAt, time <= gaveAt { return nil }
      let hasChanged = state.table != table || !isCurrent(state)
      state.table = table
      state.lastLook = time
      _ = state.assignments.learn(
        table.owners, processes: Set(table.processes.keys), retiring: table.retiring, as: epoch)
      (state.addresses, state.worker) = (table.processes, table.worker)
      state.takesPart = table.processes[epoch] != nil
      return hasChanged
    }
    // If unchanged, two waiting requests would wake each other forever.
    if hasChanged == true { wakeAll() }
    return hasChanged != nil
  }

  /// Their sessions are here.
  func arrived(_ shards: ShardSet) {
    state.withLock { $0.assignments.arrived(shards) }
    wakeAll()
  }

  // MARK: Handing over

  /// Lets nobody into these shards, and waits until those who are in are out.
  /// - Returns: the shards in which nobody is. The others are open again.
  func vacate(_ shards: ShardSet, patience: Duration) async -> ShardSet {
    let deadline = uptime() + patience
    let closed = state.withLock { $0.assignments.close(shards) }
    while true {
      let waiter = Waiter()
      let vacant = state.withLock { state in
        let vacant = state.assignments.vacant.intersection(closed)
        if vacant == closed || uptime() >= deadline {
          state.assignments.reopen(closed.subtracting(vacant))
          return vacant as ShardSet?
        }
        state.waiting.append(waiter)
        return nil
      }
      if let vacant {
        waiter.resume()
        wakeAll()
        return vacant
      }
      await waiter.wait()
    }
  }

  func reopen(_ shards: ShardSet) {
    state.withLock { $0.assignments.reopen(shards) }
    wakeAll()
  }

  /// They are another's, and nothing of them is left here.
  /// - Returns: the receiver's address, if it is known.
  func gave(_ shards: ShardSet, to receiver: Epoch) -> String? {
    let time = uptime()
    let address = state.withLock { state in
      state.gaveAt = max(state.gaveAt ?? time, time)
      state.assignments.gave(shards, to: receiver)
      return state.addresses[receiver]
    }
    wakeAll()
    return address
  }
}

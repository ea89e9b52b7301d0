internal import EventLoop
internal import Ledger
internal import Synchronization
internal import TransferModel

/// The gate of the shards, as this process knows their owners. It admits requests to shards that are here, returns the address of other
/// owners, and lets requests wait for shards that are being handed over. `ShardAssignments` makes the decisions.
final class ShardGate: Sendable {
  private struct State {
    var assignments = ShardAssignments()
    var addresses: [Epoch: String] = [:]
    /// The worker's epoch; 0 if no worker has started.
    var worker: Epoch = 0
    var waiting: [Waiter] = []
    /// The table that was read last.
    var table: OwnershipTable?
    /// Whether this process takes part, according to that table.
    var takesPart = true
    /// The time at which the ledger was last read.
    var lastLook: ContinuousClock.Instant?
    /// The time of the last handover. An older table shows the shards as still owned here.
    var gaveAt: ContinuousClock.Instant?
  }
  /// How long a request waits for a session that is being handed over.
  private static let patience = Duration.seconds(30)

  /// This service's epoch; 0 before it joins.
  let epoch = Atomic<Epoch>(0)
  /// How long this service may rely on the owners that it read last; `nil` for no limit.
  private let lease: Duration?
  let uptime: @Sendable () -> ContinuousClock.Instant
  private let state = Mutex(State())

  init(lease: Duration?, uptime: @escaping @Sendable () -> ContinuousClock.Instant) {
    (self.lease, self.uptime) = (lease, uptime)
  }

  /// Returns whether this process may rely on the owners that it read last. If it was frozen, another process may have taken over, and its
  /// memory is outdated.
  private func isCurrent(_ state: borrowing State) -> Bool {
    guard let lease, let lastLook = state.lastLook else { return true }
    return uptime() - lastLook < lease
  }

  /// Whether this process may begin work, because no other can have taken over from it.
  var isCurrent: Bool { state.withLock { isCurrent($0) && $0.takesPart } }

  // MARK: Requests

  /// Admits a request to a shard, or returns the owner's address. Waits until the shard has an owner and its sessions are recovered. Never
  /// returns `unknown`.
  func admit(_ shard: Shard) async throws(ClusterError) -> RequestLocation {
    try await find("the session is being handed over to another service") { state in
      switch state.assignments.admit(shard) {
      case .here: .here(shard)
      case .elsewhere(let owner): state.addresses[owner].map { .peer($0) }
      case .wait: nil
      }
    }
  }

  /// Waits until the ownership is current. If this process was frozen, another may have taken over.
  func waitForCurrentView() async throws(ClusterError) {
    try await find("the running services are not known yet") { _ in () }
  }

  /// Calls `look` after each change, as long as the ownership is current, until it returns an answer.
  /// - Parameter fault: the text of the error after the time limit.
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

  func release(_ shard: Shard) {
    let isVacant = state.withLock { $0.assignments.release(shard) }
    if isVacant { wakeAll() }
  }

  /// Wakes all waiters after a change, or so that they check their time limits.
  func wakeAll() {
    let waiting = state.withLock { state in
      defer { state.waiting = [] }
      return state.waiting
    }
    for waiter in waiting { waiter.resume() }
  }

  /// Waits for the next change, for at most a second.
  func change() async {
    let waiter = Waiter()
    state.withLock { $0.waiting.append(waiter) }
    await waiter.wait()
  }

  // MARK: Known owners

  /// Whether no other process takes part and all sessions are here.
  var isAlone: Bool { state.withLock { $0.assignments.isAlone && isCurrent($0) } }
  func isReady(_ shard: Shard) -> Bool { state.withLock { $0.assignments.isReady(shard) } }
  /// Returns whether the shard's sessions are here, even if they are about to be handed over.
  func holds(_ shard: Shard) -> Bool { state.withLock { $0.assignments.holds(shard) } }
  var ready: ShardSet { state.withLock { $0.assignments.ready } }
  var arriving: ShardSet { state.withLock { $0.assignments.arriving } }

  /// Lists items in memory.
  /// - Returns: the items, and the shards whose items are complete.
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

  /// Returns whether a process with this epoch takes part or is the worker.
  func isLiving(_ epoch: Epoch) -> Bool {
    state.withLock { state in
      state.assignments.others.contains(epoch) || state.assignments.epoch == epoch || state.worker == epoch
    }
  }

  /// Whether this process is the leader: it joined last, and does the jobs that only one process should do.
  var isYoungest: Bool {
    state.withLock { state in state.assignments.others.allSatisfy { $0 < state.assignments.epoch ?? 0 } }
  }

  /// Records the ownership from the ledger. A table from before the last one or the last handover is ignored. It would show shards that
  /// were handed over as still owned here.
  /// - Parameter time: the time at which the ledger was read.
  /// - Returns: `false` if the table was ignored.
  @discardableResult
  func update(_ table: OwnershipTable, as epoch: Epoch, at time: ContinuousClock.Instant) -> Bool {
    let hasChanged: Bool? = state.withLock { state in
      if let last = state.lastLook, time < last { return nil }
      if let gaveAt = state.gaveAt, time <= gaveAt { return nil }
      let hasChanged = state.table != table || !isCurrent(state)
      state.table = table
      state.lastLook = time
      _ = state.assignments.update(
        table.owners, processes: Set(table.processes.keys), retiring: table.retiring, as: epoch)
      (state.addresses, state.worker) = (table.processes, table.worker)
      state.takesPart = table.processes[epoch] != nil
      return hasChanged
    }
    // Without this check, two waiting requests would wake each other forever.
    if hasChanged == true { wakeAll() }
    return hasChanged != nil
  }

  /// Admits requests to shards whose sessions are recovered.
  func markReady(_ shards: ShardSet) {
    state.withLock { $0.assignments.arrived(shards) }
    wakeAll()
  }

  // MARK: Handover

  /// Closes the shards and waits until their requests have ended.
  /// - Returns: the shards without requests. The others are open again.
  func drain(_ shards: ShardSet, patience: Duration) async -> ShardSet {
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

  /// Records that the shards belong to another process. Call it before their sessions are dropped here.
  func willDrop(_ shards: ShardSet) { state.withLock { $0.assignments.drop(shards) } }

  /// Records that the shards belong to another process and that none of their sessions is left here.
  /// - Returns: the receiver's address, if it is known.
  func markHandedOver(_ shards: ShardSet, to receiver: Epoch) -> String? {
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

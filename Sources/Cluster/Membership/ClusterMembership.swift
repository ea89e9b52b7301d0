internal import EventLoop
internal import Ledger
internal import Synchronization

/// The membership of this process among those that share the ledger: it joins, takes over, recovers sessions, hands over, and leaves. Calls
/// run one after the other.
final class ClusterMembership: Sendable {
  /// How long a handover waits for the requests in its shards. Shards with requests left stay here.
  private static let patience = Duration.milliseconds(500)

  private let store: any Ledger
  private let coordination: any ClusterCoordinator
  private let gate: ShardGate
  private let holders: WeakShardHolder
  /// The shards whose worker state is not read yet.
  private let behind = Mutex(ShardSet())
  private let turns = AsyncMutex()

  init(
    store: any Ledger, coordination: any ClusterCoordinator, gate: ShardGate, holders: WeakShardHolder
  ) {
    (self.store, self.coordination, self.gate, self.holders) = (store, coordination, gate, holders)
  }

  /// Joins the ledger.
  func join() async throws(LedgerError) {
    var change = LedgerChange()
    change.ownership = .joins(address: coordination.address)
    try await store.write(change)
    guard let epoch = store.epoch else { return }
    gate.epoch.store(epoch, ordering: .relaxed)
    // The others have to read the ownership, so that they ask this process for its ephemeral sessions.
    for (other, address) in try await store.ownership().processes where other != epoch {
      coordination.wake(at: address)
    }
  }

  /// Takes over from dead and frozen processes, recovers the sessions of new shards, and hands over shards to processes that have fewer.
  /// Called each second and after another process's wakeup, once `catchUp` has succeeded. One call runs at a time.
  /// - Returns: the number of tasks that ended because their process is dead.
  func attend() async throws(LedgerError) -> Int {
    let interrupted = try await takeOverAndRecover()
    try await catchUp()
    if holders.holder?.isLeaving == false { try await rebalance() }
    return interrupted
  }

  /// Does the work of each second. Called from before this process joins. Wakes requests that wait for an owner, so that they check their
  /// time limits. If the ledger is locked, kills frozen processes, one of which has the lock. All else may wait for the ledger, so this
  /// function never waits.
  func beat() {
    gate.wakeAll()
    if isKeptOut { coordination.killUnresponsivePeers() }
  }

  /// Whether another process keeps this one from the ledger.
  var isKeptOut: Bool { if case .unavailable? = store.refusal { true } else { false } }

  /// Takes over shards of dead and frozen processes and recovers the sessions of new shards.
  /// - Returns: the number of tasks that ended because their process is dead.
  func takeOverAndRecover() async throws(LedgerError) -> Int {
    try await turns.withLock { () async throws(LedgerError) in try await takeOver() }
  }

  private func takeOver() async throws(LedgerError) -> Int {
    guard let epoch = store.epoch else { return 0 }
    let table = try await refreshOwnership(as: epoch)
    let gone = table.processes.filter { $0.key != epoch && !coordination.isAlive(at: $0.value) }.keys
    let hasFree = table.owners.contains { table.processes[$0] == nil }
    // A process that is about to leave does not take over.
    if !table.retiring.contains(epoch), !gone.isEmpty || hasFree {
      var change = LedgerChange()
      change.ownership = .takesOver(gone.sorted())
      try await store.write(change)
      _ = try await refreshOwnership(as: epoch)
    }
    let arriving = gate.arriving
    guard !arriving.isEmpty, let holder = holders.holder else { return 0 }
    let interrupted = try await holder.recover(arriving)
    behind.withLock { $0 = $0.union(arriving) }
    gate.markReady(arriving)
    holder.didRecover(arriving)
    return interrupted
  }

  /// Reads the ownership. It does not wait for other calls, because requests call it.
  func refresh() async throws(LedgerError) {
    guard let epoch = store.epoch else { return }
    _ = try await refreshOwnership(as: epoch)
  }

  private func refreshOwnership(as epoch: Epoch) async throws(LedgerError) -> OwnershipTable {
    // If the table was outdated when it arrived, it is read again, at most twice.
    for _ in 0..<2 {
      let (time, table) = (gate.uptime(), try await store.ownership())
      if gate.update(table, as: epoch, at: time) { return table }
    }
    let (time, table) = (gate.uptime(), try await store.ownership())
    gate.update(table, as: epoch, at: time)
    return table
  }

  /// Reads what the worker has done for the sessions that arrived. This takes longer than `takeOverAndRecover`. Called again after an
  /// error.
  func catchUp() async throws(LedgerError) {
    try await turns.withLock { () async throws(LedgerError) in try await catchUpInTurn() }
  }

  private func catchUpInTurn() async throws(LedgerError) {
    let shards = behind.withLock { $0 }
    guard !shards.isEmpty, let holder = holders.holder else { return }
    try await holder.catchUp(with: shards)
    behind.withLock { $0 = $0.subtracting(shards) }
  }

  /// Hands over shards to processes that have fewer.
  private func rebalance() async throws(LedgerError) {
    guard let (receiver, count) = gate.surplus, let holder = holders.holder else { return }
    try await turns.withLock { () async throws(LedgerError) in
      let quiet = gate.ready.subtracting(holder.busyShards).shards
      try await give(ShardSet(quiet.suffix(count)), of: holder, to: receiver)
    }
  }

  /// Hands over all shards without running tasks to another process, if there is one. Stops the tasks that can continue there, so that the
  /// next call hands over their shards.
  /// - Returns: whether all shards are handed over, or no other process can receive them.
  func giveAll() async throws(LedgerError) -> Bool {
    try await turns.withLock { () async throws(LedgerError) in try await giveAllInTurn() }
  }

  private func giveAllInTurn() async throws(LedgerError) -> Bool {
    guard let epoch = store.epoch, let holder = holders.holder else { return true }
    var table = try await refreshOwnership(as: epoch)
    if !table.retiring.contains(epoch) {
      var change = LedgerChange()
      change.ownership = .retires
      try await store.write(change)
      table = try await refreshOwnership(as: epoch)
    }
    let living = table.processes.filter {
      $0.key != epoch && table.mayReceive($0.key) && coordination.isAlive(at: $0.value)
    }
    guard let receiver = living.keys.max() else { return true }
    try await give(gate.ready.subtracting(holder.busyShards), of: holder, to: receiver)
    holder.stopTasks(in: gate.ready)
    return gate.ready.isEmpty && gate.arriving.isEmpty
  }

  /// Leaves the ledger. All later writes of this process fail.
  func depart() async throws(LedgerError) {
    var change = LedgerChange()
    change.ownership = .leaves
    try await store.write(change)
  }

  private func give(
    _ shards: ShardSet, of holder: any ShardHolder, to receiver: Epoch
  ) async throws(LedgerError) {
    guard !shards.isEmpty else { return }
    holder.releaseWaiters(in: shards)
    let vacant = await gate.drain(shards, patience: Self.patience)
    // The changes of earlier requests must be committed before another process reads the sessions.
    do throws(LedgerError) { try await store.write(LedgerChange()) } catch {
      gate.reopen(vacant)
      throw error
    }
    let given = vacant.subtracting(holder.busyShards)
    gate.reopen(vacant.subtracting(given))
    guard !given.isEmpty else { return }
    var change = LedgerChange()
    change.ownership = .handsOver(given, to: receiver)
    do throws(LedgerError) { try await store.write(change) } catch {
      gate.reopen(given)
      if case .notOwner = error { return }
      throw error
    }
    gate.willDrop(given)
    holder.drop(given)
    if let address = gate.markHandedOver(given, to: receiver) { coordination.wake(at: address) }
  }
}

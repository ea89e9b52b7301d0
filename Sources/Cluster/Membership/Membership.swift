internal import EventLoop
internal import Ledger
internal import Synchronization

/// This process among those that share the ledger: it takes part, takes over from those that are gone, takes up what has become its own,
/// and hands over what is to be another's. Calls take turns.
final class Membership: Sendable {
  /// How long shards wait for those who are in them before they stay where they are.
  private static let patience = Duration.milliseconds(500)

  private let store: any Ledger
  private let coordination: any Coordination
  private let owners: Owners
  private let holders: HolderReference
  /// Shards of which it is not known yet how far their background tasks are.
  private let behind = Mutex(ShardSet())
  private let turns = AsyncMutex()

  init(
    store: any Ledger, coordination: any Coordination, owners: Owners, holders: HolderReference
  ) {
    (self.store, self.coordination, self.owners, self.holders) = (store, coordination, owners, holders)
  }

  /// From here on this process takes part.
  func enter() async throws(StoreError) {
    var change = StoreChange()
    change.ownership = .enters(address: coordination.address)
    try await store.write(change)
    guard let epoch = store.epoch else { return }
    owners.epoch.store(epoch, ordering: .relaxed)
    // What is in this one's memory is found by those who know of it.
    for (other, address) in try await store.ownership().processes where other != epoch {
      coordination.ring(at: address)
    }
  }

  /// Looks who lives: takes over from processes that are gone or stand still, takes up what has become this one's, and gives shards to
  /// those that have fewer. Called each second, and when another process rings; one call at a time, once `catchUp` has succeeded.
  /// - Returns: how many tasks ended with the process that carried them out.
  func attend() async throws(StoreError) -> Int {
    let interrupted = try await look()
    try await catchUp()
    if holders.holder?.isLeaving == false { try await share() }
    return interrupted
  }

  /// A second has passed: whoever waits for an owner looks at the time, and processes end that stand still while others keep the ledger:
  /// one of them has it. Called from before this one takes part. Whatever waits for the ledger waits for this, `attend` included, so it
  /// waits for nothing itself.
  func beat() {
    owners.wakeAll()
    if isKeptOut { coordination.endTheFrozen() }
  }

  /// Whether another process keeps the ledger from this one.
  var isKeptOut: Bool { if case .unavailable? = store.refusal { true } else { false } }

  /// Takes over, and takes up.
  /// - Returns: how many tasks ended with the process that carried them out.
  func look() async throws(StoreError) -> Int {
    try await turns.withLock { () async throws(StoreError) in try await takeOver() }
  }

  private func takeOver() async throws(StoreError) -> Int {
    guard let epoch = store.epoch else { return 0 }
    let table = try await learn(as: epoch)
    let gone = table.processes.filter { $0.key != epoch && !coordination.isAlive(at: $0.value) }.keys
    let hasFree = table.owners.contains { table.processes[$0] == nil }
    // Who is about to leave leaves it to the others.
    if !table.retiring.contains(epoch), !gone.isEmpty || hasFree {
      var change = StoreChange()
      change.ownership = .takesOver(gone.sorted())
      try await store.write(change)
      _ = try await learn(as: epoch)
    }
    let arriving = owners.arriving
    guard !arriving.isEmpty, let holder = holders.holder else { return 0 }
    let interrupted = try await holder.recover(arriving)
    behind.withLock { $0 = $0.union(arriving) }
    owners.arrived(arriving)
    holder.didRecover(arriving)
    return interrupted
  }

  /// Learns who owns what. It waits for no turn: a request asks.
  func refresh() async throws(StoreError) {
    guard let epoch = store.epoch else { return }
    _ = try await learn(as: epoch)
  }

  private func learn(as epoch: Epoch) async throws(StoreError) -> OwnershipTable {
    var (time, table) = (owners.uptime(), try await store.ownership())
    // A table that was out of date when it arrived is read again.
    for _ in 0..<2 where !owners.learn(table, as: epoch, at: time) {
      (time, table) = (owners.uptime(), try await store.ownership())
    }
    return table
  }

  /// What takes longer than that: how far the background tasks are whose sessions have arrived. Again where it fails.
  func catchUp() async throws(StoreError) {
    try await turns.withLock { () async throws(StoreError) in try await catchUpInTurn() }
  }

  private func catchUpInTurn() async throws(StoreError) {
    let shards = behind.withLock { $0 }
    guard !shards.isEmpty, let holder = holders.holder else { return }
    try await holder.catchUp(with: shards)
    behind.withLock { $0 = $0.subtracting(shards) }
  }

  /// Gives shards to processes that have fewer.
  private func share() async throws(StoreError) {
    guard let (receiver, count) = owners.surplus, let holder = holders.holder else { return }
    try await turns.withLock { () async throws(StoreError) in
      let quiet = owners.ready.subtracting(holder.busyShards).shards
      try await give(ShardSet(quiet.suffix(count)), of: holder, to: receiver)
    }
  }

  /// Gives what is quiet to another process, if there is one. What can go on there stops here, and is quiet the next time.
  /// - Returns: whether nothing is left to give.
  func giveAll() async throws(StoreError) -> Bool {
    try await turns.withLock { () async throws(StoreError) in try await giveAllInTurn() }
  }

  private func giveAllInTurn() async throws(StoreError) -> Bool {
    guard let epoch = store.epoch, let holder = holders.holder else { return true }
    var table = try await learn(as: epoch)
    if !table.retiring.contains(epoch) {
      var change = StoreChange()
      change.ownership = .retires
      try await store.write(change)
      table = try await learn(as: epoch)
    }
    let living = table.processes.filter {
      $0.key != epoch && table.mayReceive($0.key) && coordination.isAlive(at: $0.value)
    }
    guard let receiver = living.keys.max() else { return true }
    try await give(owners.ready.subtracting(holder.busyShards), of: holder, to: receiver)
    holder.stopTasks(in: owners.ready)
    return owners.ready.isEmpty && owners.arriving.isEmpty
  }

  /// This process takes no part any more, and writes nothing from here on.
  func depart() async throws(StoreError) {
    var change = StoreChange()
    change.ownership = .leaves
    try await store.write(change)
  }

  private func give(
    _ shards: ShardSet, of holder: any ShardHolder, to receiver: Epoch
  ) async throws(StoreError) {
    guard !shards.isEmpty else { return }
    holder.releaseWaiters(in: shards)
    let vacant = await owners.vacate(shards, patience: Self.patience)
    // What visitors have left behind is written before it is read elsewhere.
    do throws(StoreError) { try await store.write(StoreChange()) } catch {
      owners.reopen(vacant)
      throw error
    }
    let given = vacant.subtracting(holder.busyShards)
    owners.reopen(vacant.subtracting(given))
    guard !given.isEmpty else { return }
    var change = StoreChange()
    change.ownership = .handsOver(given, to: receiver)
    do throws(StoreError) { try await store.write(change) } catch {
      owners.reopen(given)
      if case .notOwner = error { return }
      throw error
    }
    holder.forget(given)
    if let address = owners.gave(given, to: receiver) { coordination.ring(at: address) }
  }
}

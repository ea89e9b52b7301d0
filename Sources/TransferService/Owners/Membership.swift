internal import Ledger
internal import Synchronization
internal import TransferCore
internal import TransferModel

/// This process among those that share the ledger: it takes part, takes over from those that are gone, takes up what has become its own,
/// and hands over what is to be another's. Calls take turns.
package final class Membership: Sendable {
  /// How long shards wait for those who are in them before they stay where they are.
  private static let patience = Duration.milliseconds(500)

  private let owners: Owners
  private let room: MachineRoom
  private let recovery: Recovery
  /// Shards of which it is not known yet how far their background tasks are.
  private let behind = Mutex(ShardSet())
  private let turns = Turns()

  init(owners: Owners, room: MachineRoom, recovery: Recovery) {
    (self.owners, self.room, self.recovery) = (owners, room, recovery)
  }

  private var store: any Ledger { room.recorder.store }
  private var coordination: any Coordination { owners.coordination }

  /// From here on this process takes part.
  func enter() async throws(StoreError) {
    var change = StoreChange()
    change.ownership = .enters(address: coordination.address)
    try await store.write(change)
    guard let epoch = store.epoch else { return }
    room.epoch.store(epoch, ordering: .relaxed)
    // What is in this one's memory is found by those who know of it.
    for (other, address) in try await store.ownership().processes where other != epoch {
      coordination.ring(at: address)
    }
  }

  /// Looks who lives: takes over from processes that are gone or stand still, takes up what has become this one's, and gives shards to
  /// those that have fewer. Called each second, and when another process rings; one call at a time, once `catchUp` has succeeded.
  /// - Returns: how many tasks ended with the process that carried them out.
  package func attend() async throws(ServiceError) -> Int {
    do throws(StoreError) {
      let interrupted = try await look()
      try await catchUp()
      if !room.waiters.isLeaving { try await share() }
      return interrupted
    } catch {
      throw .store(error)
    }
  }

  /// A second has passed: whoever waits for an owner looks at the time, and processes end that stand still while others keep the ledger:
  /// one of them has it. Called from before this one takes part. Whatever waits for the ledger waits for this, `attend` included, so it
  /// waits for nothing itself.
  package func beat() {
    owners.wakeAll()
    if isKeptOut { coordination.endTheFrozen() }
  }

  /// Whether another process keeps the ledger from this one.
  package var isKeptOut: Bool { if case .unavailable? = store.refusal { true } else { false } }

  /// Takes over, and takes up.
  /// - Returns: how many tasks ended with the process that carried them out.
  func look() async throws(StoreError) -> Int {
    try await turns.take { () async throws(StoreError) in try await takeOver() }
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
    guard !arriving.isEmpty else { return 0 }
    let interrupted = try await recovery.recover(arriving)
    // Nobody is shown a task as running that has ended with its process.
    await room.recorder.settleAtLast()
    recovery.news.leave(arriving)
    behind.withLock { $0 = $0.union(arriving) }
    owners.arrived(arriving)
    // Their messages are this process's to deliver.
    room.recorder.outboxBell.ring()
    return interrupted
  }

  /// Learns who owns what. It waits for no turn: a request asks.
  func refresh() async throws(StoreError) {
    guard let epoch = store.epoch else { return }
    _ = try await learn(as: epoch)
  }

  private func learn(as epoch: Epoch) async throws(StoreError) -> OwnershipTable {
    let time = owners.uptime()
    let table = try await store.ownership()
    owners.learn(table, as: epoch, at: time)
    return table
  }

  /// What takes longer than that: how far the background tasks are whose sessions have arrived. Again where it fails.
  func catchUp() async throws(StoreError) {
    try await turns.take { () async throws(StoreError) in try await catchUpInTurn() }
  }

  private func catchUpInTurn() async throws(StoreError) {
    let shards = behind.withLock { $0 }
    guard !shards.isEmpty else { return }
    try await recovery.catchUp(with: shards)
    behind.withLock { $0 = $0.subtracting(shards) }
  }

  /// Gives shards to processes that have fewer.
  private func share() async throws(StoreError) {
    guard let (receiver, count) = owners.surplus else { return }
    try await turns.take { () async throws(StoreError) in
      let quiet = owners.ready.subtracting(room.busyShards).shards
      try await give(ShardSet(quiet.suffix(count)), to: receiver)
    }
  }

  /// Gives what is quiet to another process, if there is one. What can go on there stops here, and is quiet the next time.
  /// - Returns: whether nothing is left to give.
  package func giveAll() async throws(ServiceError) -> Bool {
    do throws(StoreError) {
      return try await turns.take { () async throws(StoreError) in try await giveAllInTurn() }
    } catch {
      throw .store(error)
    }
  }

  private func giveAllInTurn() async throws(StoreError) -> Bool {
    guard let epoch = store.epoch else { return true }
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
    try await give(owners.ready.subtracting(room.busyShards), to: receiver)
    for session in recovery.sessions.sessions(of: owners.ready) {
      _ = room.visit(session.id) { machine, step in machine.take(.leave, &step) }
    }
    return owners.ready.isEmpty && owners.arriving.isEmpty
  }

  /// This process takes no part any more, and writes nothing from here on.
  package func depart() async throws(ServiceError) {
    var change = StoreChange()
    change.ownership = .leaves
    try await room.recorder.write(change)
  }

  private func give(_ shards: ShardSet, to receiver: Epoch) async throws(StoreError) {
    guard !shards.isEmpty else { return }
    // Who waits for a task's end hears how far it is.
    for session in recovery.sessions.sessions(of: shards) {
      room.waiters.letGo(of: room.look(at: session.id) { $0.unfinishedIDs } ?? [])
    }
    let vacant = await owners.vacate(shards, patience: Self.patience)
    // What visitors have left behind is written before it is read elsewhere.
    do throws(StoreError) { try await store.write(StoreChange()) } catch {
      owners.reopen(vacant)
      throw error
    }
    let given = vacant.subtracting(room.busyShards)
    owners.reopen(vacant.subtracting(given))
    guard !given.isEmpty else { return }
    var change = StoreChange()
    change.ownership = .handsOver(given, to: receiver)
    do throws(StoreError) { try await store.write(change) } catch {
      owners.reopen(given)
      if case .notOwner = error { return }
      throw error
    }
    recovery.sessions.forget(given)
    owners.gave(given, to: receiver)
  }
}

import Ledger
import Synchronization
import Testing
import TransferModel

/// Who owns what, and that nobody else writes. Several stores of one database are to each other as processes are.
struct OwnershipConformance {
  static let cases: [ConformanceCase] = [
    .init("eachProcessGetsANumber") { try await Self().eachProcessGetsANumber($0) },
    .init("whoHasLostItsPlaceWritesNothing") { try await Self().whoHasLostItsPlaceWritesNothing($0) },
    .init("shardsAreHandedOver") { try await Self().shardsAreHandedOver($0) },
    .init("whoRetiresGetsNothing") { try await Self().whoRetiresGetsNothing($0) },
    .init("thereIsOneWorker") { try await Self().thereIsOneWorker($0) },
    .init("eachShardHasOneOwner") { try await Self().eachShardHasOneOwner($0) },
    .init("decisionsGoWithTheirOwner") { try await Self().decisionsGoWithTheirOwner($0) },
    .init("messagesAreTheOwners") { try await Self().messagesAreTheOwners($0) },
  ]

  /// A session of a shard.
  private static func session(_ shard: UInt8, _ type: SessionType = .default) -> TransferSession {
    TransferSession(
      id: SessionID(high: 0x7000, low: 0x8000_0000_0000_0000 | UInt64(shard)), type: type,
      createdAt: LedgerBench.time, description: nil, configuration: SessionConfiguration(), delegate: nil,
      identifier: nil, tenant: .default)
  }

  private static func event(_ shard: UInt8) -> StoreChange {
    var change = StoreChange()
    let session = session(shard).id
    change.events = [TransferEvent(.sessionDidBecomeInvalid, at: LedgerBench.time, session: session, .none)]
    change.owner = session
    return change
  }

  private static func ownership(_ ownership: OwnershipChange) -> StoreChange {
    var change = StoreChange()
    change.ownership = ownership
    return change
  }

  /// Takes part from here on.
  private static func enter(_ store: any Ledger) async throws -> Epoch {
    try await store.write(ownership(.enters(address: "here")))
    return try #require(store.epoch)
  }

  /// What a store says to a change.
  private enum Answer: Equatable { case written, notOwner, fencedOff }
  private static func answer(_ store: any Ledger, _ change: StoreChange) async throws -> Answer {
    do { try await store.write(change) } catch StoreError.notOwner { return .notOwner } catch StoreError
      .fencedOff
    { return .fencedOff }
    return .written
  }

  private static func some(_ numbers: ClosedRange<UInt8>) -> ShardSet { ShardSet(numbers.map { Shard($0) }) }

  func eachProcessGetsANumber(_ kind: LedgerKind) async throws {
    let bench = LedgerBench(kind)
    let stores = try (0..<3).map { _ in try bench.open() }
    var epochs: [Epoch] = []
    for store in stores {
      #expect(store.epoch == nil)
      epochs.append(try await Self.enter(store))
    }
    #expect(epochs == epochs.sorted() && Set(epochs).count == 3 && epochs[0] > 0)
    var table = try await stores[2].ownership()
    #expect(table.processes == Dictionary(uniqueKeysWithValues: epochs.map { ($0, "here") }))
    #expect(table.owners == Array(repeating: 0, count: Shard.count))
    try await stores[1].write(Self.ownership(.takesOver([])))
    table = try await stores[0].ownership()
    #expect(table.shards(of: epochs[1]) == .all && table.processes.count == 3)
    for store in stores { await store.close() }
  }

  /// Whoever was taken over from writes nothing: whatever it was about to write, nothing of it is there.
  func whoHasLostItsPlaceWritesNothing(_ kind: LedgerKind) async throws {
    let bench = LedgerBench(kind)
    let (first, second, helper) = (try bench.open(), try bench.open(), try bench.open())
    let lost = try await Self.enter(first)
    try await first.write(Self.ownership(.takesOver([])))
    try await first.write(Self.event(1))
    let owner = try await Self.enter(second)
    #expect(try await Self.answer(second, Self.event(1)) == .notOwner)
    try await second.write(Self.ownership(.takesOver([lost])))
    let told = Atomic(0)
    first.record(Self.event(1)) { told.add(1, ordering: .relaxed) }
    #expect(try await Self.answer(first, Self.event(1)) == .fencedOff)
    #expect(try await Self.answer(first, Self.ownership(.takesOver([owner]))) == .fencedOff)
    // One that takes no part is a helper of those that do.
    try await helper.write(Self.event(1))
    try await second.write(Self.event(1))
    for store in [first, helper] { await store.close() }
    #expect(told.load(ordering: .relaxed) == 0)
    let page = try await second.journal(.session(Self.session(1).id), after: 0, maximumBytes: 1 << 20)
    #expect(page.fragments.map(\.first) == [1, 2, 3])
    // Where it comes back, it is another.
    let again = try bench.open()
    #expect(try await Self.enter(again) > owner)
    await again.close()
    await second.close()
  }

  func shardsAreHandedOver(_ kind: LedgerKind) async throws {
    let bench = LedgerBench(kind)
    let (first, second) = (try bench.open(), try bench.open())
    let giver = try await Self.enter(first)
    try await first.write(Self.ownership(.takesOver([])))
    let receiver = try await Self.enter(second)
    // To nobody; and what is not one's own.
    #expect(try await Self.answer(first, Self.ownership(.handsOver(.all, to: receiver + 9))) == .notOwner)
    try await second.write(Self.ownership(.handsOver(.all, to: receiver)))
    #expect(try await first.ownership().shards(of: giver) == .all)
    try await first.write(Self.ownership(.handsOver(Self.some(0...99), to: receiver)))
    let table = try await second.ownership()
    #expect(
      table.shards(of: receiver) == Self.some(0...99) && table.shards(of: giver) == Self.some(100...255))
    for shard: UInt8 in [0, 99, 100, 255] {
      let isGiven = shard < 100
      #expect(try await Self.answer(first, Self.event(shard)) == (isGiven ? .notOwner : .written))
      #expect(try await Self.answer(second, Self.event(shard)) == (isGiven ? .written : .notOwner))
    }
    // Facts of others are dropped, and hold nothing up; whoever waits hears of it.
    let told = Atomic(0)
    let dropped = Atomic(0)
    first.record(Self.event(0)) { told.add(1, ordering: .relaxed) }
    first.record(Self.event(200)) { told.add(10, ordering: .relaxed) }
    first.record(Self.event(0)) { (isWritten: Bool) in dropped.add(isWritten ? 100 : 1, ordering: .relaxed) }
    #expect(try await Self.answer(first, StoreChange()) == .written)
    #expect(told.load(ordering: .relaxed) == 10 && dropped.load(ordering: .relaxed) == 1)
    // Who leaves writes no more, and its shards are free to be taken.
    try await first.write(Self.ownership(.handsOver(Self.some(100...199), to: receiver)))
    try await first.write(Self.ownership(.leaves))
    #expect(try await Self.answer(first, Self.event(200)) == .fencedOff)
    #expect(try await Self.answer(second, Self.event(200)) == .notOwner)
    try await second.write(Self.ownership(.takesOver([])))
    #expect(try await Self.answer(second, Self.event(200)) == .written)
    #expect(try await second.ownership().shards(of: receiver) == .all)
    for store in [first, second] { await store.close() }
  }

  /// What it has is its own until it gives it away.
  func whoRetiresGetsNothing(_ kind: LedgerKind) async throws {
    let bench = LedgerBench(kind)
    let (first, second) = (try bench.open(), try bench.open())
    let (giver, leaver) = (try await Self.enter(first), try await Self.enter(second))
    try await first.write(Self.ownership(.takesOver([])))
    try await first.write(Self.ownership(.handsOver(Self.some(0...9), to: leaver)))
    try await second.write(Self.ownership(.retires))
    #expect(try await first.ownership().retiring == [leaver])
    #expect(
      try await Self.answer(first, Self.ownership(.handsOver(Self.some(10...19), to: leaver))) == .notOwner)
    #expect(try await Self.answer(second, Self.event(5)) == .written)
    try await second.write(Self.ownership(.handsOver(.all, to: giver)))
    #expect(try await first.ownership().shards(of: giver) == .all)
    // Who is taken over from, or has left, is not about to leave any more.
    try await second.write(Self.ownership(.leaves))
    #expect(try await first.ownership().retiring.isEmpty)
    for store in [first, second] { await store.close() }
  }

  /// Whoever was the worker before writes nothing more, be it of its own rows or of others'.
  func thereIsOneWorker(_ kind: LedgerKind) async throws {
    let bench = LedgerBench(kind)
    let (service, first, second) = (try bench.open(), try bench.open(), try bench.open())
    let owner = try await Self.enter(service)
    try await service.write(Self.ownership(.takesOver([])))
    func work(_ number: UInt64) -> StoreChange {
      var change = StoreChange()
      change.work = [
        StoredWork(task: TaskID(high: 3, low: number), session: Self.session(5).id, document: "w")
      ]
      return change
    }
    #expect(try await service.ownership().worker == 0)
    try await first.write(Self.ownership(.takesWork))
    let earlier = try #require(first.epoch)
    #expect(try await Self.answer(first, work(1)) == .written)
    // It is of no shard, and what it tells is of all of them.
    #expect(try await Self.answer(first, Self.event(5)) == .written)
    let told = Atomic(0)
    second.record(Self.ownership(.takesWork)) { told.add(1, ordering: .relaxed) }
    second.record(work(2)) { told.add(1, ordering: .relaxed) }
    #expect(try await Self.answer(second, StoreChange()) == .written)
    let table = try await service.ownership()
    #expect(table.worker == second.epoch && earlier > owner && table.worker > earlier)
    #expect(table.processes == [owner: "here"] && table.shards(of: owner) == .all)
    first.record(work(3)) { told.add(10, ordering: .relaxed) }
    #expect(try await Self.answer(first, work(4)) == .fencedOff)
    // Services and the worker are nothing to each other.
    #expect(try await Self.answer(service, Self.event(5)) == .written)
    let other = try bench.open()
    _ = try await Self.enter(other)
    try await other.write(Self.ownership(.takesOver([owner])))
    #expect(try await Self.answer(second, work(5)) == .written)
    #expect(try await Set(second.work().map(\.task.low)) == [1, 2, 5])
    for store in [service, first, second, other] { await store.close() }
    #expect(told.load(ordering: .relaxed) == 2)
  }

  /// Of those who take over at once, one owns each shard.
  func eachShardHasOneOwner(_ kind: LedgerKind) async throws {
    let bench = LedgerBench(kind)
    let stores = try (0..<4).map { _ in try bench.open() }
    try await withThrowingTaskGroup(of: Void.self) { group in
      for store in stores {
        group.addTask {
          let epoch = try await Self.enter(store)
          let others = try await store.ownership().processes.keys.filter { $0 != epoch }
          _ = try await Self.answer(store, Self.ownership(.takesOver(others)))
        }
      }
      try await group.waitForAll()
    }
    for shard in Shard.all {
      var owners = 0
      for store in stores where try await Self.answer(store, Self.event(shard.number)) == .written {
        owners += 1
      }
      #expect(owners == 1)
    }
    for store in stores { await store.close() }
  }

  /// What was asked on behalf of one that is gone is asked no more; what another asks goes on.
  func decisionsGoWithTheirOwner(_ kind: LedgerKind) async throws {
    let bench = LedgerBench(kind)
    let (first, second) = (try bench.open(), try bench.open())
    let lost = try await Self.enter(first)
    try await first.write(Self.ownership(.takesOver([])))
    let receiver = try await Self.enter(second)
    try await first.write(Self.ownership(.handsOver(Self.some(0...9), to: receiver)))
    let decisions = [UInt8(3), 30].map { shard in
      Decision(
        id: DecisionID(high: 1, low: UInt64(shard)), type: .taskDidReceiveChallenge,
        sessionID: Self.session(shard).id, taskID: TaskID(high: 3, low: 3), createdAt: LedgerBench.time,
        expiresAt: LedgerBench.time, defaultAnswer: "x", arguments: [])
    }
    try await first.write { change in
      change.sessions = [Self.session(3), Self.session(30)]
      change.newDecisions = decisions
    }
    try await second.write(Self.ownership(.takesOver([lost])))
    #expect(try await second.decision(decisions[0].id)?.state == .pending)
    #expect(try await second.decision(decisions[1].id)?.state == .withdrawn)
    for store in [first, second] { await store.close() }
  }

  /// Each process sends the messages of its own sessions.
  func messagesAreTheOwners(_ kind: LedgerKind) async throws {
    let bench = LedgerBench(kind)
    let (first, second) = (try bench.open(), try bench.open())
    _ = try await Self.enter(first)
    try await first.write(Self.ownership(.takesOver([])))
    let receiver = try await Self.enter(second)
    let deliveries = [UInt8(5), 50, 51].map { shard in
      var delivery = WebhookDelivery(
        id: DeliveryID(high: 2, low: UInt64(shard)), sessionID: Self.session(shard).id, taskID: nil,
        type: .taskDidComplete, webhook: Webhook(url: "http://h/", secret: nil), payload: [1],
        createdAt: LedgerBench.time)
      delivery.nextAttemptAt = LedgerBench.time.adding(seconds: Double(shard))
      return delivery
    }
    try await first.write { $0.newDeliveries = deliveries }
    func due(_ store: any Ledger) async throws -> [UInt64] {
      try await store.dueDeliveries(at: LedgerBench.time.adding(seconds: 99), limit: 9).map(\.id.low)
    }
    #expect(try await due(first) == [5, 50, 51])
    try await first.write(Self.ownership(.handsOver(Self.some(0...9), to: receiver)))
    _ = try await Self.answer(second, StoreChange())
    #expect(try await due(first) == [50, 51])
    #expect(try await due(second) == [5])
    #expect(try await first.nextDeliveryTime() == LedgerBench.time.adding(seconds: 50))
    #expect(try await second.nextDeliveryTime() == LedgerBench.time.adding(seconds: 5))
    for store in [first, second] { await store.close() }
  }
}

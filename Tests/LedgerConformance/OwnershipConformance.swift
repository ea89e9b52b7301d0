import Ledger
import Synchronization
import Testing
import TransferModel

/// The contract for ownership and the fence. Each ledger of a database stands for a process.
struct OwnershipConformance {
  static let cases: [ConformanceCase] = [
    .init("eachProcessGetsAnEpoch") { try await Self().eachProcessGetsAnEpoch($0) },
    .init("fencedProcessWritesNothing") { try await Self().fencedProcessWritesNothing($0) },
    .init("handedOverShardsAreWrittenOnlyByTheirNewOwner") {
      try await Self().handedOverShardsAreWrittenOnlyByTheirNewOwner($0)
    },
    .init("retiringProcessGetsNoShards") { try await Self().retiringProcessGetsNoShards($0) },
    .init("newWorkerFencesOffTheEarlierWorker") { try await Self().newWorkerFencesOffTheEarlierWorker($0) },
    .init("concurrentTakeOversGiveEachShardOneOwner") {
      try await Self().concurrentTakeOversGiveEachShardOneOwner($0)
    },
    .init("takeOverWithdrawsDecisionsOfTheDeadOwner") {
      try await Self().takeOverWithdrawsDecisionsOfTheDeadOwner($0)
    },
    .init("dueDeliveriesAreReadByTheirOwner") { try await Self().dueDeliveriesAreReadByTheirOwner($0) },
  ]

  /// Returns a session in a shard.
  private static func session(_ shard: UInt8, _ type: SessionType = .default) -> TransferSession {
    TransferSession(
      id: SessionID(high: 0x7000, low: 0x8000_0000_0000_0000 | UInt64(shard)), type: type,
      createdAt: LedgerBench.time, description: nil, configuration: SessionConfiguration(), delegate: nil,
      identifier: nil, tenant: .default)
  }

  private static func event(_ shard: UInt8) -> LedgerChange {
    var change = LedgerChange()
    let session = session(shard).id
    change.events = [TransferEvent(.sessionDidBecomeInvalid, at: LedgerBench.time, session: session, .none)]
    change.owner = session
    return change
  }

  private static func ownership(_ ownership: OwnershipChange) -> LedgerChange {
    var change = LedgerChange()
    change.ownership = ownership
    return change
  }

  /// Joins the ledger.
  private static func enter(_ store: any Ledger) async throws -> Epoch {
    try await store.write(ownership(.joins(address: "here")))
    return try #require(store.epoch)
  }

  /// The outcome of a change.
  private enum Answer: Equatable { case written, notOwner, fencedOff }
  private static func answer(_ store: any Ledger, _ change: LedgerChange) async throws -> Answer {
    do { try await store.write(change) } catch LedgerError.notOwner { return .notOwner } catch LedgerError
      .fencedOff
    { return .fencedOff }
    return .written
  }

  private static func some(_ numbers: ClosedRange<UInt8>) -> ShardSet { ShardSet(numbers.map { Shard($0) }) }

  func eachProcessGetsAnEpoch(_ kind: LedgerKind) async throws {
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

  /// After a take-over, no pending or later change of the old owner is written.
  func fencedProcessWritesNothing(_ kind: LedgerKind) async throws {
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
    // A process that has not joined may write for any session.
    try await helper.write(Self.event(1))
    try await second.write(Self.event(1))
    for store in [first, helper] { await store.close() }
    #expect(told.load(ordering: .relaxed) == 0)
    let page = try await second.journal(.session(Self.session(1).id), after: 0, maximumBytes: 1 << 20)
    #expect(page.fragments.map(\.first) == [1, 2, 3])
    // A process that joins again gets a new epoch.
    let again = try bench.open()
    #expect(try await Self.enter(again) > owner)
    await again.close()
    await second.close()
  }

  func handedOverShardsAreWrittenOnlyByTheirNewOwner(_ kind: LedgerKind) async throws {
    let bench = LedgerBench(kind)
    let (first, second) = (try bench.open(), try bench.open())
    let giver = try await Self.enter(first)
    try await first.write(Self.ownership(.takesOver([])))
    let receiver = try await Self.enter(second)
    // Refused: a receiver that has not joined. Ignored: shards of another owner.
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
    // Facts about sessions of another owner are dropped and do not block later facts. `settled` is called all the same.
    let told = Atomic(0)
    let dropped = Atomic(0)
    first.record(Self.event(0)) { told.add(1, ordering: .relaxed) }
    first.record(Self.event(200)) { told.add(10, ordering: .relaxed) }
    first.record(Self.event(0)) { (isWritten: Bool) in dropped.add(isWritten ? 100 : 1, ordering: .relaxed) }
    #expect(try await Self.answer(first, LedgerChange()) == .written)
    #expect(told.load(ordering: .relaxed) == 10 && dropped.load(ordering: .relaxed) == 1)
    // A process that has left cannot write, and its shards can be taken over.
    try await first.write(Self.ownership(.handsOver(Self.some(100...199), to: receiver)))
    try await first.write(Self.ownership(.leaves))
    #expect(try await Self.answer(first, Self.event(200)) == .fencedOff)
    #expect(try await Self.answer(second, Self.event(200)) == .notOwner)
    try await second.write(Self.ownership(.takesOver([])))
    #expect(try await Self.answer(second, Self.event(200)) == .written)
    #expect(try await second.ownership().shards(of: receiver) == .all)
    for store in [first, second] { await store.close() }
  }

  /// A retiring process keeps its shards until it hands them over.
  func retiringProcessGetsNoShards(_ kind: LedgerKind) async throws {
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
    // A process that has left or was taken over from is no longer retiring.
    try await second.write(Self.ownership(.leaves))
    #expect(try await first.ownership().retiring.isEmpty)
    for store in [first, second] { await store.close() }
  }

  /// An earlier worker cannot write, neither its own rows nor others.
  func newWorkerFencesOffTheEarlierWorker(_ kind: LedgerKind) async throws {
    let bench = LedgerBench(kind)
    let (service, first, second) = (try bench.open(), try bench.open(), try bench.open())
    let owner = try await Self.enter(service)
    try await service.write(Self.ownership(.takesOver([])))
    func work(_ number: UInt64) -> LedgerChange {
      var change = LedgerChange()
      change.work = [
        StoredWork(task: TaskID(high: 3, low: number), session: Self.session(5).id, document: "w")
      ]
      return change
    }
    #expect(try await service.ownership().worker == 0)
    try await first.write(Self.ownership(.becomesWorker))
    let earlier = try #require(first.epoch)
    #expect(try await Self.answer(first, work(1)) == .written)
    // The worker owns no shard, and may write events of sessions in all shards.
    #expect(try await Self.answer(first, Self.event(5)) == .written)
    let told = Atomic(0)
    second.record(Self.ownership(.becomesWorker)) { told.add(1, ordering: .relaxed) }
    second.record(work(2)) { told.add(1, ordering: .relaxed) }
    #expect(try await Self.answer(second, LedgerChange()) == .written)
    let table = try await service.ownership()
    #expect(table.worker == second.epoch && earlier > owner && table.worker > earlier)
    #expect(table.processes == [owner: "here"] && table.shards(of: owner) == .all)
    first.record(work(3)) { told.add(10, ordering: .relaxed) }
    #expect(try await Self.answer(first, work(4)) == .fencedOff)
    // Services and the worker do not fence off each other.
    #expect(try await Self.answer(service, Self.event(5)) == .written)
    let other = try bench.open()
    _ = try await Self.enter(other)
    try await other.write(Self.ownership(.takesOver([owner])))
    #expect(try await Self.answer(second, work(5)) == .written)
    #expect(try await Set(second.work().map(\.task.low)) == [1, 2, 5])
    for store in [service, first, second, other] { await store.close() }
    #expect(told.load(ordering: .relaxed) == 2)
  }

  /// If several processes take over at once, each shard has one owner.
  func concurrentTakeOversGiveEachShardOneOwner(_ kind: LedgerKind) async throws {
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

  /// Pending decisions of a dead process are withdrawn; those of other processes stay pending.
  func takeOverWithdrawsDecisionsOfTheDeadOwner(_ kind: LedgerKind) async throws {
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

  /// Each process reads the pending deliveries of its own sessions.
  func dueDeliveriesAreReadByTheirOwner(_ kind: LedgerKind) async throws {
    let bench = LedgerBench(kind)
    let (first, second) = (try bench.open(), try bench.open())
    _ = try await Self.enter(first)
    try await first.write(Self.ownership(.takesOver([])))
    let receiver = try await Self.enter(second)
    let deliveries = [UInt8(5), 50, 51].map { shard in
      var delivery = WebhookDelivery.sample(
        id: DeliveryID(high: 2, low: UInt64(shard)), sessionID: Self.session(shard).id,
        createdAt: LedgerBench.time)
      delivery.nextAttemptAt = LedgerBench.time.adding(seconds: Double(shard))
      return delivery
    }
    try await first.write { $0.newDeliveries = deliveries }
    func due(_ store: any Ledger) async throws -> [UInt64] {
      try await store.dueSamples(at: LedgerBench.time.adding(seconds: 99)).map(\.id.low)
    }
    #expect(try await due(first) == [5, 50, 51])
    try await first.write(Self.ownership(.handsOver(Self.some(0...9), to: receiver)))
    _ = try await Self.answer(second, LedgerChange())
    #expect(try await due(first) == [50, 51])
    #expect(try await due(second) == [5])
    #expect(try await first.nextSampleTime(after: LedgerBench.time) == LedgerBench.time.adding(seconds: 50))
    #expect(try await second.nextSampleTime(after: LedgerBench.time) == LedgerBench.time.adding(seconds: 5))
    for store in [first, second] { await store.close() }
  }
}

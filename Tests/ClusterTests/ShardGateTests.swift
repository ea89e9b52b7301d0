import Ledger
import Synchronization
import TestSupport
import Testing

@testable import Cluster

/// The admission of requests by a process that may be frozen or outdated.
@Suite(.endsInTime) struct ShardGateTests {
  private final class Clock: Sendable {
    private let time = Mutex(ContinuousClock.now)
    var now: ContinuousClock.Instant { time.withLock { $0 } }
    func pass(_ duration: Duration) { time.withLock { $0 += duration } }
  }
  private static let shard = Shard(7)

  private static func table(owner: Epoch) -> OwnershipTable {
    OwnershipTable(processes: [1: "here", 2: "there"], owners: Array(repeating: owner, count: Shard.count))
  }

  /// After a freeze, the memory of a process may be outdated, so it admits no request before it has read the ownership again.
  @Test(arguments: [Epoch(1), 2]) func `frozen process reads owners before use`(_ owner: Epoch) async throws {
    let clock = Clock()
    let owners = ShardGate(lease: .seconds(5)) { clock.now }
    owners.update(Self.table(owner: 1), as: 1, at: clock.now)
    owners.markReady(.all)
    clock.pass(.seconds(4))
    guard case .here = try await owners.admit(Self.shard) else {
      return #expect(Bool(false), "the shard is not owned by this process")
    }
    owners.release(Self.shard)
    #expect(owners.list { 1 }.1 == .all)
    clock.pass(.seconds(2))
    #expect(owners.list { 1 }.1 == ShardSet() && !owners.isAlone)
    let place = Task { try await owners.admit(Self.shard) }
    // A table from before the freeze does not suffice.
    owners.update(Self.table(owner: 1), as: 1, at: clock.now - .seconds(6))
    for _ in 0..<100 { await Task.yield() }
    owners.update(Self.table(owner: owner), as: 1, at: clock.now)
    switch try await place.value {
    case .here: #expect(owner == 1)
    case .peer(let address): #expect(owner == 2 && address == "there")
    case .singleNode, .unknown: #expect(Bool(false), "the shard's owner is unknown")
    }
    #expect(owners.list { 1 }.1 == (owner == 1 ? .all : ShardSet()))
  }

  /// Requests read the ownership at any time, and the result may arrive after a handover.
  @Test func tableThatWasReadBeforeAHandoverIsIgnored() async {
    let clock = Clock()
    let owners = ShardGate(lease: nil) { clock.now }
    owners.update(Self.table(owner: 1), as: 1, at: clock.now)
    owners.markReady(.all)
    clock.pass(.seconds(1))
    let early = clock.now
    clock.pass(.seconds(1))
    #expect(await owners.drain(.all, patience: .zero) == .all)
    owners.willDrop(.all)
    _ = owners.markHandedOver(.all, to: 2)
    owners.update(Self.table(owner: 1), as: 1, at: early)
    #expect(owners.arriving == ShardSet() && !owners.holds(Self.shard))
    // The results of two reads arrive in the wrong order.
    let first = clock.now
    clock.pass(.seconds(1))
    owners.update(Self.table(owner: 2), as: 1, at: clock.now)
    owners.update(Self.table(owner: 1), as: 1, at: first)
    #expect(owners.arriving == ShardSet())
    clock.pass(.seconds(1))
    owners.update(Self.table(owner: 1), as: 1, at: clock.now)
    #expect(owners.arriving == .all)
  }

  /// Sessions are dropped one by one, and a list that is made meanwhile lacks some of them.
  @Test func `list made during a handover is not complete`() async {
    let clock = Clock()
    let owners = ShardGate(lease: nil) { clock.now }
    owners.update(Self.table(owner: 1), as: 1, at: clock.now)
    owners.markReady(.all)
    #expect(await owners.drain(.all, patience: .zero) == .all)
    #expect(owners.list { 1 }.1 == .all)
    let begun = owners.list { owners.willDrop(.all) }.1
    #expect(begun == ShardSet() && owners.list { 1 }.1 == ShardSet())
    owners.reopen(.all)
    #expect(owners.list { 1 }.1 == ShardSet() && !owners.holds(Self.shard))
    _ = owners.markHandedOver(.all, to: 2)
    #expect(owners.list { 1 }.1 == ShardSet())
  }

  /// After a freeze, a process starts no work before it knows whether it was taken over from.
  @Test func `frozen process is not current until it reads the owners`() {
    let clock = Clock()
    let owners = ShardGate(lease: .seconds(5)) { clock.now }
    #expect(owners.isCurrent, "a process that has not joined is current")
    owners.update(Self.table(owner: 1), as: 1, at: clock.now)
    #expect(owners.isCurrent)
    clock.pass(.seconds(6))
    #expect(!owners.isCurrent)
    var table = Self.table(owner: 2)
    owners.update(table, as: 1, at: clock.now)
    #expect(owners.isCurrent)
    table.processes[1] = nil
    owners.update(table, as: 1, at: clock.now)
    #expect(!owners.isCurrent, "a process that was taken over is not current")
  }
}

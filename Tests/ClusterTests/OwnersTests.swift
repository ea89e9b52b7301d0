import Ledger
import Synchronization
import TestSupport
import Testing

@testable import Cluster

/// Who is let in where, as a process knows it.
@Suite(.endsInTime) struct OwnersTests {
  private final class Clock: Sendable {
    private let time = Mutex(ContinuousClock.now)
    var now: ContinuousClock.Instant { time.withLock { $0 } }
    func pass(_ duration: Duration) { time.withLock { $0 += duration } }
  }
  private static let shard = Shard(7)

  private static func table(owner: Epoch) -> OwnershipTable {
    OwnershipTable(processes: [1: "here", 2: "there"], owners: Array(repeating: owner, count: Shard.count))
  }

  /// Whoever stood still has in its memory what was: nobody sees that before it has looked again.
  @Test(arguments: [Epoch(1), 2]) func whoStoodStillLooksBeforeItLetsAnybodyIn(_ owner: Epoch) async throws {
    let clock = Clock()
    let owners = Owners(lease: .seconds(5)) { clock.now }
    owners.learn(Self.table(owner: 1), as: 1, at: clock.now)
    owners.arrived(.all)
    clock.pass(.seconds(4))
    guard case .here = try await owners.enter(Self.shard) else { return #expect(Bool(false), "it is here") }
    owners.leave(Self.shard)
    #expect(owners.list { 1 }.1 == .all)
    clock.pass(.seconds(2))
    #expect(owners.list { 1 }.1 == ShardSet() && !owners.isAlone)
    let place = Task { try await owners.enter(Self.shard) }
    // What it has seen before that is as old.
    owners.learn(Self.table(owner: 1), as: 1, at: clock.now - .seconds(6))
    for _ in 0..<100 { await Task.yield() }
    owners.learn(Self.table(owner: owner), as: 1, at: clock.now)
    switch try await place.value {
    case .here: #expect(owner == 1)
    case .elsewhere(let address): #expect(owner == 2 && address == "there")
    case .alone, .unknown: #expect(Bool(false), "it is known")
    }
    #expect(owners.list { 1 }.1 == (owner == 1 ? .all : ShardSet()))
  }

  /// Requests read the table of owners at any time: what one of them read may arrive after a handover.
  @Test func tableThatWasReadBeforeAHandoverIsIgnored() async {
    let clock = Clock()
    let owners = Owners(lease: nil) { clock.now }
    owners.learn(Self.table(owner: 1), as: 1, at: clock.now)
    owners.arrived(.all)
    clock.pass(.seconds(1))
    let early = clock.now
    clock.pass(.seconds(1))
    #expect(await owners.vacate(.all, patience: .zero) == .all)
    _ = owners.gave(.all, to: 2)
    owners.learn(Self.table(owner: 1), as: 1, at: early)
    #expect(owners.arriving == ShardSet() && !owners.holds(Self.shard))
    // Two readings whose results arrive in the wrong order.
    let first = clock.now
    clock.pass(.seconds(1))
    owners.learn(Self.table(owner: 2), as: 1, at: clock.now)
    owners.learn(Self.table(owner: 1), as: 1, at: first)
    #expect(owners.arriving == ShardSet())
    clock.pass(.seconds(1))
    owners.learn(Self.table(owner: 1), as: 1, at: clock.now)
    #expect(owners.arriving == .all)
  }

  /// Nothing goes out of a process that woke up, until it knows that it was not taken over from.
  @Test func whoStoodStillSendsNothing() {
    let clock = Clock()
    let owners = Owners(lease: .seconds(5)) { clock.now }
    #expect(owners.isCurrent, "it has not begun")
    owners.learn(Self.table(owner: 1), as: 1, at: clock.now)
    #expect(owners.isCurrent)
    clock.pass(.seconds(6))
    #expect(!owners.isCurrent)
    var table = Self.table(owner: 2)
    owners.learn(table, as: 1, at: clock.now)
    #expect(owners.isCurrent)
    table.processes[1] = nil
    owners.learn(table, as: 1, at: clock.now)
    #expect(!owners.isCurrent, "another has taken over")
  }
}

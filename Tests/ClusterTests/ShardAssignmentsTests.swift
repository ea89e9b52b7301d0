import Ledger
import TestSupport
import Testing
import TransferCore
import TransferModel

@testable import Cluster

/// The admission of requests while shards arrive and are handed over.
@Suite struct ShardAssignmentsTests {
  /// A reference to assignments, so that changes can be part of an expectation.
  @dynamicMemberLookup private final class Ground {
    private var territory = ShardAssignments()
    subscript<Value>(dynamicMember path: KeyPath<ShardAssignments, Value>) -> Value {
      territory[keyPath: path]
    }
    func learn(
      _ owners: [Int64], processes: Set<Int64>, retiring: Set<Int64> = [], as epoch: Int64
    ) -> ShardSet {
      territory.update(owners, processes: processes, retiring: retiring, as: epoch)
    }
    func arrived(_ shards: ShardSet) { territory.arrived(shards) }
    func enter(_ shard: Shard) -> ShardAssignments.Admission { territory.admit(shard) }
    func leave(_ shard: Shard) -> Bool { territory.release(shard) }
    func close(_ shards: ShardSet) -> ShardSet { territory.close(shards) }
    func reopen(_ shards: ShardSet) { territory.reopen(shards) }
    func gave(_ shards: ShardSet, to receiver: Int64) {
      territory.drop(shards)
      territory.gave(shards, to: receiver)
    }
    func isReady(_ shard: Shard) -> Bool { territory.isReady(shard) }
    func isLeaving(_ shard: Shard) -> Bool { territory.isLeaving(shard) }
    func owner(of shard: Shard) -> Int64 { territory.owner(of: shard) }
  }

  private static func owners(_ own: ClosedRange<UInt8>, _ epoch: Int64, rest: Int64) -> [Int64] {
    Shard.all.map { own.contains($0.number) ? epoch : rest }
  }

  private static func some(_ numbers: ClosedRange<UInt8>) -> ShardSet { ShardSet(numbers.map { Shard($0) }) }

  @Test func `set of shards behaves like a set`() {
    var set = Self.some(60...130)
    #expect(
      set.count == 71 && set.contains(Shard(63)) && set.contains(Shard(64)) && !set.contains(Shard(131)))
    set.remove(Shard(64))
    #expect(set.shards.map(\.number) == Array(60...63) + Array(65...130))
    #expect(set.union(Self.some(0...255)) == .all && ShardSet.all.count == 256)
    #expect(set.intersection(Self.some(0...60)).shards == [Shard(60)])
    #expect(ShardSet.all.subtracting(.all).isEmpty && !set.isEmpty)
    #expect([set, .all, ShardSet()].allSatisfy { ShardSet(text: $0.text) == $0 })
    #expect(["", "1,2,3", "1,2,3,4,5", "1,2,3,x"].allSatisfy { ShardSet(text: $0) == nil })
    let id = SessionID(high: 1, low: 0xAB12)
    #expect(id.shard == Shard(0x12) && id.inShard(Shard(0xFF)) == SessionID(high: 1, low: 0xABFF))
  }

  @Test func `requests are admitted after the sessions are read`() {
    let territory = Ground()
    #expect(territory.enter(Shard(1)) == .wait)
    let arriving = territory.learn(Self.owners(0...127, 3, rest: 5), processes: [3, 5], as: 3)
    #expect(arriving == Self.some(0...127) && territory.enter(Shard(1)) == .wait)
    #expect(territory.enter(Shard(200)) == .elsewhere(5))
    territory.arrived(arriving)
    #expect(territory.enter(Shard(1)) == .here && !territory.leave(Shard(1)))
    #expect(territory.ready == arriving && !territory.isAlone)
    // Requests for a shard without a living owner wait.
    _ = territory.learn(Self.owners(0...127, 3, rest: 5), processes: [3], as: 3)
    #expect(territory.enter(Shard(200)) == .wait && !territory.isAlone)
    let rest = territory.learn(Array(repeating: 3, count: 256), processes: [3], as: 3)
    // The process is not alone before it has read the sessions of the dead one.
    #expect(rest == Self.some(128...255) && !territory.isAlone)
    territory.arrived(rest)
    #expect(territory.isAlone && territory.held == .all)
  }

  @Test func `shard can be handed over when its requests have ended`() {
    let territory = Ground()
    territory.arrived(territory.learn(Array(repeating: 3, count: 256), processes: [3, 5], as: 3))
    #expect(territory.enter(Shard(7)) == .here && territory.enter(Shard(7)) == .here)
    #expect(territory.close(Self.some(7...8)) == Self.some(7...8))
    #expect(territory.vacant == Self.some(8...8) && territory.enter(Shard(8)) == .wait)
    #expect(!territory.leave(Shard(7)))
    #expect(territory.leave(Shard(7)) && territory.vacant == Self.some(7...8))
    territory.reopen(Self.some(8...8))
    #expect(territory.enter(Shard(8)) == .here)
    territory.gave(Self.some(7...7), to: 5)
    #expect(territory.enter(Shard(7)) == .elsewhere(5) && territory.owner(of: Shard(7)) == 5)
  }

  @Test(arguments: [
    ([256, 0], 128), ([200, 56], 72), ([129, 127], nil), ([128, 128], nil), ([256, 0, 0], 85),
    ([86, 85, 85], nil), ([100, 156], nil),
  ])
  func `shares of the processes are fair`(_ counts: [Int], _ expected: Int?) {
    let owners = counts.enumerated().flatMap { Array(repeating: Int64($0.offset + 1), count: $0.element) }
    let territory = Ground()
    _ = territory.learn(owners, processes: Set(1...Int64(counts.count)), as: 1)
    #expect(territory.surplus?.count == expected)
    if expected != nil { #expect(territory.surplus?.receiver == 2) }
  }

  /// A process that is about to leave would hand over the new shards at once.
  @Test(
    arguments: [
      ([256, 0], [2], nil), ([200, 0, 56], [2], [72, 3]), ([200, 0, 56], [3], [72, 2]),
      ([256, 0], [1], nil), ([256, 0, 0], [2, 3], nil),
    ] as [([Int], Set<Int64>, [Int]?)])
  func `retiring process gets no share`(_ counts: [Int], _ retiring: Set<Int64>, _ surplus: [Int]?) {
    let owners = counts.enumerated().flatMap { Array(repeating: Int64($0.offset + 1), count: $0.element) }
    let territory = Ground()
    _ = territory.learn(owners, processes: Set(1...Int64(counts.count)), retiring: retiring, as: 1)
    #expect(territory.surplus?.count == surplus?[0])
    #expect(territory.surplus?.receiver == surplus.map { Int64($0[1]) })
  }

  /// Random tables, requests and handovers. No request is admitted to a shard of another owner, and each request ends. In the end the owner
  /// of each shard admits requests.
  @Test(arguments: 0..<100) func `random changes keep assignments consistent`(_ seed: Int) {
    var random = RandomSource(seed: UInt64(seed))
    func number(_ count: Int) -> Int { Int(random.next() % UInt64(count)) }
    let territory = Ground()
    var owners = Array(repeating: Int64(0), count: 256)
    var inside: [Shard: Int] = [:]
    for _ in 0..<400 {
      let shard = Shard(UInt8(number(8)))
      switch number(7) {
      case 0:
        // Another process gets a shard only if no request is in it or it was handed over, because this process is alive.
        if inside[shard, default: 0] == 0, !territory.isReady(shard), !territory.isLeaving(shard) {
          owners[Int(shard.number)] = Int64(number(3))
        }
        _ = territory.learn(owners, processes: [1, 2], as: 1)
      case 1: territory.arrived(territory.arriving)
      case 2, 3:
        switch territory.enter(shard) {
        case .here:
          #expect(owners[Int(shard.number)] == 1)
          inside[shard, default: 0] += 1
        case .elsewhere(let owner): #expect(owner == owners[Int(shard.number)] && owner == 2)
        case .wait: break
        }
      case 4:
        guard let visits = inside[shard], visits > 0 else { continue }
        inside[shard] = visits - 1
        let isLast = territory.leave(shard)
        #expect(!isLast || visits == 1 && territory.isLeaving(shard))
      case 5: _ = territory.close(ShardSet([shard]))
      default:
        let vacant = territory.vacant
        #expect(vacant.shards.allSatisfy { inside[$0, default: 0] == 0 })
        if number(2) == 0 {
          for shard in vacant.shards { owners[Int(shard.number)] = 2 }
          territory.gave(vacant, to: 2)
        } else {
          territory.reopen(vacant)
        }
      }
    }
    for (shard, visits) in inside { for _ in 0..<visits { _ = territory.leave(shard) } }
    territory.reopen(territory.vacant)
    _ = territory.learn(owners, processes: [1, 2], as: 1)
    territory.arrived(territory.arriving)
    for shard in Shard.all {
      let owner = owners[Int(shard.number)]
      #expect(territory.enter(shard) == (owner == 1 ? .here : owner == 2 ? .elsewhere(2) : .wait))
    }
  }
}

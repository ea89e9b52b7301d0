import TestSupport
import Testing
import TransferModel

@testable import HTTPCache

@Suite struct CacheIndexTests {
  /// Compares order and cost with an array.
  @Test(arguments: UInt64(0)..<200)
  func `recency list agrees with an array`(_ seed: UInt64) {
    var generator = SplitMix64(seed: seed)
    var list = RecencyList<Int>()
    var model: [(key: Int, cost: Int64)] = []
    for _ in 0..<60 {
      let key = Int.random(in: 0..<8, using: &generator)
      let known = model.first { $0.key == key }
      switch Int.random(in: 0..<3, using: &generator) {
      case 0:
        let cost = Int64.random(in: 0..<9, using: &generator)
        list.insert(key, cost: cost)
        model = [(key, cost)] + model.filter { $0.key != key }
      case 1:
        list.touch(key)
        if let known { model = [known] + model.filter { $0.key != key } }
      default:
        list.remove(key)
        model.removeAll { $0.key == key }
      }
      #expect(Array(list.keys) == model.map(\.key))
      #expect(list.newest == model.first?.key && list.oldest == model.last?.key)
      #expect(list.cost == model.reduce(0) { $0 + $1.cost } && list.count == model.count)
    }
  }

  @Test func `number of entries stays within the limit`() {
    var index = CacheIndex(memoryCapacity: 1_000_000, diskCapacity: 1_000_000, maximumCount: 3)
    let responses = (0..<5).map { CacheHarness.response("http://a/\($0)", [1]) }
    for response in responses {
      index.insert(response, bytes: [1], metaSize: 100, goesToDisk: true, now: Sample.start)
    }
    #expect(index.list(9).map(\.response) == responses[2...].reversed())
    #expect(index.usage.count == 3 && index.usage.diskUsed == 303)
  }

  /// Uses are written to disk once a minute. Effects are in the necessary order.
  @Test func `uses and removals have effects in order`() {
    var index = CacheIndex(memoryCapacity: 0, diskCapacity: 1_000_000)
    let response = CacheHarness.response("http://a/", [1])
    index.insert(response, bytes: [1], metaSize: 100, goesToDisk: true, now: Sample.at(0))
    #expect(index.takeEffects().isEmpty)
    for (seconds, expected) in [(59.0, 0), (60, 1), (119, 0), (120, 1)] {
      index.touch(response.id, now: Sample.at(seconds))
      #expect(index.takeEffects().count == expected)
    }
    index.lease(response.id)
    index.remove(url: "http://a/")
    guard case .removeMeta(response.key)? = index.takeEffects().first else {
      Issue.record("the metadata was not removed")
      return
    }
    index.release(response.id)
    guard case .removeBody(response.id)? = index.takeEffects().first else {
      Issue.record("the body was not removed")
      return
    }
  }
}

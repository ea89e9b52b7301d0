import Synchronization
import TestSupport
import Testing

@testable import EventLoop

@Suite struct FairPoolTests {
  private final class Order: Sendable {
    let names = Mutex<[String]>([])
    func add(_ name: String) { names.withLock { $0.append(name) } }
  }

  @Test func `queues take turns`() {
    var queue = FairQueue<String, Int>()
    for number in 1...4 { queue.append(number, for: "a") }
    queue.append(10, for: "b")
    for number in 20...21 { queue.append(number, for: "c") }
    var order: [Int] = []
    while let item = queue.next() { order.append(item) }
    #expect(order == [1, 10, 20, 2, 21, 3, 4])
  }

  /// Against a model: a key's items keep their order, and between two of its items every other waiting key has a turn.
  @Test func `queue agrees with a model for random input`() {
    var random = SplitMix64(seed: 7)
    var queue = FairQueue<Int, Int>()
    var waiting: [Int: [Int]] = [:]
    var order: [Int] = []
    for step in 0..<20_000 {
      if Bool.random(using: &random) {
        let key = Int.random(in: 0..<5, using: &random)
        queue.append(step, for: key)
        if waiting[key] == nil { order.append(key) }
        waiting[key, default: []].append(step)
      } else if let item = queue.next() {
        let key = order.removeFirst()
        #expect(waiting[key]?.removeFirst() == item)
        if waiting[key]?.isEmpty ?? true { waiting[key] = nil } else { order.append(key) }
      } else {
        #expect(order.isEmpty)
      }
    }
  }

  /// Tenant "a" has 20 jobs waiting for the only thread. Tenant "b" has one; it must be among the first two to run.
  @Test func `one tenant delays another by one job`() async {
    let pool = FairPool(name: "test-fair", threads: 1)
    defer { pool.stop() }
    let order = Order()
    let gate = Gate()
    await withTaskGroup(of: Void.self) { group in
      group.addTask(executorPreference: pool.executor(for: "a")) { _ = gate.wait() }
      for _ in 0..<20 {
        group.addTask(executorPreference: pool.executor(for: "a")) { order.add("a") }
      }
      group.addTask(executorPreference: pool.executor(for: "b")) { order.add("b") }
      gate.open()
    }
    let done = order.names.withLock { $0 }
    #expect(done.count == 21 && done.prefix(2).contains("b"))
  }
}

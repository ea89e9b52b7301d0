import Synchronization
import Testing

@testable import TransferService

@Suite struct RelayTests {
  @Test func whatComesBeforeSomebodyIsConnectedIsLost() {
    let relay = Relay<Int>()
    let received = Mutex<[Int]>([])
    relay.deliver(1)
    relay.connect { value in received.withLock { $0.append(value) } }
    relay.deliver(2)
    #expect(received.withLock { $0 } == [2])
  }

  /// A closure that is wrapped once more at each delivery took a hundred times as long after these.
  @Test func aDeliveryCostsTheSameAfterAHundredThousand() {
    let relay = Relay<Int>()
    let sum = Atomic(0)
    relay.connect { sum.add($0, ordering: .relaxed) }
    let clock = ContinuousClock()
    func quickest() -> Duration {
      (0..<20).map { _ in clock.measure { for _ in 0..<100 { relay.deliver(1) } } }.min() ?? .zero
    }
    let first = quickest()
    for _ in 0..<100_000 { relay.deliver(1) }
    #expect(quickest() < first * 5)
    #expect(sum.load(ordering: .relaxed) == 104_000)
  }
}

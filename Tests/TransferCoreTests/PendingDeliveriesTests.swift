import TestSupport
import Testing
import TransferModel

@testable import TransferCore

@Suite struct PendingDeliveriesTests {
  private static func id(_ number: UInt64) -> DeliveryID { DeliveryID(high: 1, low: number) }

  @Test func `nothing is pending at first`() {
    #expect(PendingDeliveries().isDone && PendingDeliveries().wakeUp == nil)
  }

  @Test func `settling the last message returns true`() {
    var deliveries = PendingDeliveries()
    func settle(_ number: UInt64) -> Bool { deliveries.settle(Self.id(number)) }
    deliveries.queue(Self.id(1))
    deliveries.queue(Self.id(2))
    #expect(!settle(1))
    #expect(!deliveries.isDone)
    #expect(settle(2))
    #expect(deliveries.isDone)
    #expect(!settle(2), "a delivery is settled once")
    #expect(!settle(3), "an unknown delivery settles nothing")
  }

  @Test func `only one wake up message is pending at a time`() {
    var deliveries = PendingDeliveries()
    func wake(_ number: UInt64) -> Bool { deliveries.queue(wakeUp: Self.id(number)) }
    #expect(wake(1))
    #expect(!wake(2))
    #expect(deliveries.pending == [Self.id(1)])
    // The following write queues the message again, which changes nothing.
    deliveries.queue(Self.id(1))
    #expect(deliveries.pending == [Self.id(1)])
    let isLast = deliveries.settle(Self.id(1))
    #expect(isLast)
    #expect(wake(3))
  }

  /// An endpoint may not see events that happen during its attempt. One further message covers all of them.
  @Test func `event during an attempt causes another wake up message`() {
    var deliveries = PendingDeliveries()
    func wake(_ number: UInt64) -> Bool { deliveries.queue(wakeUp: Self.id(number)) }
    func replace(_ old: UInt64, _ new: UInt64) -> Bool {
      deliveries.replace(wakeUp: Self.id(old), by: Self.id(new))
    }
    #expect(wake(1))
    #expect(!wake(2))
    deliveries.attempt(Self.id(1))
    #expect(!replace(1, 3), "a wake-up message is not replaced after its attempt")
    #expect(!wake(4))
    #expect(!wake(5))
    #expect(!replace(9, 6), "only the pending wake-up message is replaced")
    #expect(replace(1, 6))
    #expect(!replace(6, 7))
    let isLast = deliveries.settle(Self.id(1))
    #expect(!isLast)
    #expect(deliveries.wakeUp == Self.id(6) && deliveries.pending == [Self.id(6)])
    #expect(!wake(8), "no third wake-up message while the second is pending")
  }

  /// Compares the value with a list of the pending messages.
  @Test(arguments: 0..<20) func `pending messages match a list in any order of calls`(_ seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var deliveries = PendingDeliveries()
    var (expected, wakeUp): ([DeliveryID], DeliveryID?) = ([], nil)
    var hasNews = false
    for step in 0..<500 {
      let id = Self.id(.random(in: 1...12, using: &random))
      switch Int.random(in: 0..<6, using: &random) {
      case 0:
        deliveries.queue(id)
        if !expected.contains(id) { expected.append(id) }
      case 1 where !expected.contains(id):
        let isWanted = deliveries.queue(wakeUp: id)
        #expect(isWanted == (wakeUp == nil), "step \(step)")
        hasNews = wakeUp != nil
        if wakeUp == nil {
          wakeUp = id
          expected.append(id)
        }
      case 2:
        deliveries.attempt(id)
        if wakeUp == id { hasNews = false }
      case 3 where wakeUp != nil && !expected.contains(id):
        let old = wakeUp ?? id
        let isReplaced = deliveries.replace(wakeUp: old, by: id)
        #expect(isReplaced == hasNews, "step \(step)")
        if hasNews {
          (wakeUp, hasNews) = (id, false)
          expected.append(id)
        }
      default:
        let isLast = expected == [id]
        let saysSo = deliveries.settle(id)
        #expect(saysSo == isLast, "step \(step)")
        expected.removeAll { $0 == id }
        if wakeUp == id { (wakeUp, hasNews) = (nil, false) }
      }
      #expect(
        deliveries.pending == Set(expected) && deliveries.wakeUp == wakeUp && deliveries.hasNews == hasNews,
        "step \(step)")
      #expect(deliveries.isDone == expected.isEmpty)
    }
  }
}

import TestSupport
import Testing
import TransferModel

@testable import TransferCore

@Suite struct HandoverTests {
  private static func id(_ number: UInt64) -> DeliveryID { DeliveryID(high: 1, low: number) }

  @Test func nothingIsPendingAtFirst() {
    #expect(Handover().isDone && Handover().wakeUp == nil)
  }

  @Test func theLastOneThatIsSettledSaysSo() {
    var handover = Handover()
    func settle(_ number: UInt64) -> Bool { handover.settle(Self.id(number)) }
    handover.queue(Self.id(1))
    handover.queue(Self.id(2))
    #expect(!settle(1))
    #expect(!handover.isDone)
    #expect(settle(2))
    #expect(handover.isDone)
    #expect(!settle(2), "told once")
    #expect(!settle(3), "what was never queued settles nothing")
  }

  @Test func oneMessageWakesAtATime() {
    var handover = Handover()
    func wake(_ number: UInt64) -> Bool { handover.queue(wakeUp: Self.id(number)) }
    #expect(wake(1))
    #expect(!wake(2))
    #expect(handover.pending == [Self.id(1)])
    // The write that follows queues it again, which changes nothing.
    handover.queue(Self.id(1))
    #expect(handover.pending == [Self.id(1)])
    let isLast = handover.settle(Self.id(1))
    #expect(isLast)
    #expect(wake(3))
  }

  /// What happens while a message is being sent its reader may not see: another follows, one for all of that.
  @Test func newsDuringAnAttemptAreWorthAnother() {
    var handover = Handover()
    func wake(_ number: UInt64) -> Bool { handover.queue(wakeUp: Self.id(number)) }
    func replace(_ old: UInt64, _ new: UInt64) -> Bool {
      handover.replace(wakeUp: Self.id(old), by: Self.id(new))
    }
    #expect(wake(1))
    #expect(!wake(2))
    handover.attempt(Self.id(1))
    #expect(!replace(1, 3), "it happened before the attempt")
    #expect(!wake(4))
    #expect(!wake(5))
    #expect(!replace(9, 6), "another message")
    #expect(replace(1, 6))
    #expect(!replace(6, 7))
    let isLast = handover.settle(Self.id(1))
    #expect(!isLast)
    #expect(handover.wakeUp == Self.id(6) && handover.pending == [Self.id(6)])
    #expect(!wake(8), "the second is on its way")
  }

  /// Against a list of what is pending.
  @Test(arguments: 0..<20) func walk(_ seed: UInt64) {
    var random = SplitMix64(seed: seed)
    var handover = Handover()
    var (expected, wakeUp): ([DeliveryID], DeliveryID?) = ([], nil)
    var hasNews = false
    for step in 0..<500 {
      let id = Self.id(.random(in: 1...12, using: &random))
      switch Int.random(in: 0..<6, using: &random) {
      case 0:
        handover.queue(id)
        if !expected.contains(id) { expected.append(id) }
      case 1 where !expected.contains(id):
        let isWanted = handover.queue(wakeUp: id)
        #expect(isWanted == (wakeUp == nil), "step \(step)")
        hasNews = wakeUp != nil
        if wakeUp == nil {
          wakeUp = id
          expected.append(id)
        }
      case 2:
        handover.attempt(id)
        if wakeUp == id { hasNews = false }
      case 3 where wakeUp != nil && !expected.contains(id):
        let old = wakeUp ?? id
        let isReplaced = handover.replace(wakeUp: old, by: id)
        #expect(isReplaced == hasNews, "step \(step)")
        if hasNews {
          (wakeUp, hasNews) = (id, false)
          expected.append(id)
        }
      default:
        let isLast = expected == [id]
        let saysSo = handover.settle(id)
        #expect(saysSo == isLast, "step \(step)")
        expected.removeAll { $0 == id }
        if wakeUp == id { (wakeUp, hasNews) = (nil, false) }
      }
      #expect(
        handover.pending == Set(expected) && handover.wakeUp == wakeUp && handover.hasNews == hasNews,
        "step \(step)")
      #expect(handover.isDone == expected.isEmpty)
    }
  }
}

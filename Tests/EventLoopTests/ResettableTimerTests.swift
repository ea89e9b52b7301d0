import EventLoop
import Synchronization
import TestSupport
import Testing

@Suite struct ResettableTimerTests {
  @Test(.endsInTime) func `alarm rings once for the last set time`() async {
    let (rings, bell) = AsyncStream.makeStream(of: Void.self)
    let alarm = ResettableTimer { bell.yield() }
    var iterator = rings.makeAsyncIterator()
    for _ in 0..<3 {
      // The timer fires only at the last time that was set.
      alarm.set(after: .seconds(3600))
      alarm.set(after: .seconds(Int64.max / 4))
      let start = ContinuousClock.now
      alarm.set(after: .milliseconds(20))
      await iterator.next()
      #expect(ContinuousClock.now - start >= .milliseconds(20))
    }
    alarm.set(after: .seconds(-1))
    await iterator.next()
  }

  @Test(.endsInTime) func `released alarm does not ring`() async {
    let (rings, bell) = AsyncStream.makeStream(of: Int.self)
    var first: ResettableTimer? = ResettableTimer { bell.yield(1) }
    first?.set(after: .milliseconds(10))
    first = nil
    let second = ResettableTimer { bell.yield(2) }
    second.set(after: .milliseconds(30))
    var iterator = rings.makeAsyncIterator()
    #expect(await iterator.next() == 2)
  }
}

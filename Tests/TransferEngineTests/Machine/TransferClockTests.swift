import Testing

@testable import TransferEngine

@Suite struct TransferClockTests {
  private static let start = ContinuousClock.now
  private static let busy = TransferClock.State(
    isOnWire: true, isHeld: false, isSuspended: false, isFlowing: true, waitsForClient: false,
    mayWaitForOthers: false)

  private static func state(_ change: (inout TransferClock.State) -> Void) -> TransferClock.State {
    var state = busy
    change(&state)
    return state
  }

  private static func timeout(_ clock: TransferClock, _ seconds: Int, _ state: TransferClock.State = busy)
    -> TransferClock.Timeout?
  {
    clock.timeout(at: start + .seconds(seconds), idle: .seconds(10), state)
  }

  @Test(
    arguments: [(9, nil), (10, .idle), (99, .idle), (100, .resource)]
      as [(Int, TransferClock.Timeout?)])
  func `idle and resource timeouts end a transfer`(_ seconds: Int, _ expected: TransferClock.Timeout?) {
    #expect(Self.timeout(TransferClock(timeoutForResource: 100, at: Self.start), seconds) == expected)
  }

  /// A transfer that does not wait for the origin has only the resource timeout, and a suspended one has no timeout.
  @Test func `idle timeout runs only while the origin is awaited`() {
    let clock = TransferClock(timeoutForResource: 100, at: Self.start)
    let others: [TransferClock.State] = [
      Self.state { $0.isOnWire = false }, Self.state { $0.isHeld = true },
      Self.state { $0.isFlowing = false },
      Self.state { $0.mayWaitForOthers = true },
    ]
    for state in others {
      #expect(Self.timeout(clock, 50, state) == nil && Self.timeout(clock, 100, state) == .resource)
    }
    #expect(Self.timeout(clock, 1000, Self.state { $0.isSuspended = true }) == nil)
    let client = Self.state { ($0.isFlowing, $0.waitsForClient) = (false, true) }
    #expect(Self.timeout(clock, 10, client) == .bodyStalled)
  }

  @Test func `clocks stop during a suspension`() {
    var clock = TransferClock(timeoutForResource: 100, at: Self.start)
    clock.suspend(at: Self.start + .seconds(5))
    clock.resume(at: Self.start + .seconds(505))
    #expect(Self.timeout(clock, 514) == nil && Self.timeout(clock, 515) == .idle)
    clock.touch(at: Self.start + .seconds(590))
    #expect(Self.timeout(clock, 599) == nil && Self.timeout(clock, 600) == .resource)
  }

  @Test func `transfer that is cut soon has no idle timeout`() {
    var clock = TransferClock(timeoutForResource: 100, at: Self.start)
    clock.cutSoon(at: Self.start)
    #expect(
      !clock.mustCut(at: Self.start + .milliseconds(999)) && clock.mustCut(at: Self.start + .seconds(1)))
    #expect(Self.timeout(clock, 50) == nil)
    clock.forgetCut()
    #expect(!clock.mustCut(at: Self.start + .seconds(50)) && Self.timeout(clock, 50) == .idle)
  }
}

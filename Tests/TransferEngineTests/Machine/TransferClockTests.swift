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

  private static func verdict(_ clock: TransferClock, _ seconds: Int, _ state: TransferClock.State = busy)
    -> TransferClock.Verdict?
  {
    clock.verdict(at: start + .seconds(seconds), idle: .seconds(10), state)
  }

  @Test(
    arguments: [(9, nil), (10, .noByteMoved), (99, .noByteMoved), (100, .resource)]
      as [(Int, TransferClock.Verdict?)])
  func clocks(_ seconds: Int, _ expected: TransferClock.Verdict?) {
    #expect(Self.verdict(TransferClock(timeoutForResource: 100, at: Self.start), seconds) == expected)
  }

  /// Whoever waits for something else than the origin has only the resource's clock, and a suspended task has none.
  @Test func idleIsWhomTheOriginKeepsWaiting() {
    let clock = TransferClock(timeoutForResource: 100, at: Self.start)
    let others: [TransferClock.State] = [
      Self.state { $0.isOnWire = false }, Self.state { $0.isHeld = true },
      Self.state { $0.isFlowing = false },
      Self.state { $0.mayWaitForOthers = true },
    ]
    for state in others {
      #expect(Self.verdict(clock, 50, state) == nil && Self.verdict(clock, 100, state) == .resource)
    }
    #expect(Self.verdict(clock, 1000, Self.state { $0.isSuspended = true }) == nil)
    let client = Self.state { ($0.isFlowing, $0.waitsForClient) = (false, true) }
    #expect(Self.verdict(clock, 10, client) == .noByteOfTheBody)
  }

  @Test func clocksStandStillWhileSuspended() {
    var clock = TransferClock(timeoutForResource: 100, at: Self.start)
    clock.suspend(at: Self.start + .seconds(5))
    clock.resume(at: Self.start + .seconds(505))
    #expect(Self.verdict(clock, 514) == nil && Self.verdict(clock, 515) == .noByteMoved)
    clock.touch(at: Self.start + .seconds(590))
    #expect(Self.verdict(clock, 599) == nil && Self.verdict(clock, 600) == .resource)
  }

  @Test func whatIsCutSoonIsNotIdle() {
    var clock = TransferClock(timeoutForResource: 100, at: Self.start)
    clock.cutSoon(at: Self.start)
    #expect(
      !clock.mustCut(at: Self.start + .milliseconds(999)) && clock.mustCut(at: Self.start + .seconds(1)))
    #expect(Self.verdict(clock, 50) == nil)
    clock.forgetCut()
    #expect(!clock.mustCut(at: Self.start + .seconds(50)) && Self.verdict(clock, 50) == .noByteMoved)
  }
}

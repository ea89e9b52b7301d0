import Testing

@testable import HTTPServer

@Suite struct RequestBodyTimerTests {
  private static let start = ContinuousClock.now
  private static let patience = BodyTimeouts(
    silence: .seconds(30), bytesInPeriod: 60_000, period: .seconds(60))

  /// Simulates a client that sends `bytes` every few seconds. Returns the second and the kind of the first fault.
  private static func end(
    sending bytes: Int, every seconds: Int, _ patience: BodyTimeouts = patience, until last: Int = 1000
  ) -> (second: Int, fault: RequestFault)? {
    var clock = RequestBodyTimer()
    clock.start(start)
    for second in 1...last {
      let now = start + .seconds(second)
      if second.isMultiple(of: seconds) { clock.didReceive(bytes, now) }
      if let fault = clock.fault(patience, now) { return (second, fault) }
    }
    return nil
  }

  @Test func silentClientTimesOut() throws {
    let end = try #require(Self.end(sending: 0, every: 1))
    #expect(end.second == 31 && end.fault == .bodyStalled(seconds: 30))
  }

  @Test func slowClientTimesOut() throws {
    let end = try #require(Self.end(sending: 999, every: 1))
    #expect(end.second == 60 && end.fault == .bodyTooSlow(bytes: 60_000, seconds: 60))
    #expect(Self.end(sending: 1000, every: 1) == nil)
    #expect(Self.end(sending: 30_000, every: 30) == nil)
  }

  /// Extra bytes in the first minute do not count for the second.
  @Test func minimumAppliesToEachPeriod() throws {
    var clock = RequestBodyTimer()
    clock.start(Self.start)
    clock.didReceive(10_000_000, Self.start + .seconds(1))
    var faults: [Int] = []
    for second in 1...120 {
      if second.isMultiple(of: 20) { clock.didReceive(1, Self.start + .seconds(second)) }
      if clock.fault(Self.patience, Self.start + .seconds(second)) != nil { faults.append(second) }
    }
    #expect(faults == [120])
  }

  @Test func allowedSilenceReplacesBothLimits() throws {
    let patience = BodyTimeouts(silence: .seconds(300), bytesInPeriod: nil)
    #expect(Self.end(sending: 1, every: 290, patience) == nil)
    #expect(try #require(Self.end(sending: 0, every: 1, patience)).second == 301)
  }

  @Test func secondStartDoesNotResetTheClock() {
    var clock = RequestBodyTimer()
    #expect(clock.fault(Self.patience, Self.start + .seconds(1000)) == nil)
    clock.start(Self.start)
    clock.start(Self.start + .seconds(20))
    #expect(clock.fault(Self.patience, Self.start + .seconds(31)) != nil)
  }

  @Test func `clock is stopped while the server does not read`() {
    var clock = RequestBodyTimer()
    clock.start(Self.start)
    clock.stop(Self.start + .seconds(5))
    clock.stop(Self.start + .seconds(9))
    #expect(clock.fault(Self.patience, Self.start + .seconds(1000)) == nil)
    clock.resume(Self.start + .seconds(1000))
    clock.resume(Self.start + .seconds(2000))
    #expect(clock.fault(Self.patience, Self.start + .seconds(1025)) == nil)
    clock.excludeFreeze(.seconds(10))
    #expect(clock.fault(Self.patience, Self.start + .seconds(1035)) == nil)
    #expect(clock.fault(Self.patience, Self.start + .seconds(1036)) != nil)
  }
}

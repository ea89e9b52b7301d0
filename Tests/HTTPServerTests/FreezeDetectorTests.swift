import Testing

@testable import HTTPServer

@Suite struct FreezeDetectorTests {
  /// The times of checks and the resulting changes of deadlines, in milliseconds.
  @Test(arguments: [
    ([0, 1000, 2000], [0, 0, 0]), ([0, 1000, 2900, 3900], [0, 0, 0, 0]),
    ([0, 13_000, 14_000], [0, 12_000, 0]),
    ([0, 1000, 5000, 15_000], [0, 0, 3000, 9000]), ([500], [0]),
  ])
  func `freeze lasts from the check that was due`(_ looks: [Int], _ moves: [Int]) {
    let start = ContinuousClock.now
    var standstill = FreezeDetector(period: .seconds(1))
    #expect(looks.map { standstill.check(start + .milliseconds($0)) } == moves.map { .milliseconds($0) })
  }

  /// A request that arrived while the loop was frozen is not late.
  @Test func `deadlines move by the freeze`() {
    let start = ContinuousClock.now
    var clock = RequestBodyTimer()
    clock.start(start)
    var standstill = FreezeDetector(period: .seconds(1))
    _ = standstill.check(start)
    clock.excludeFreeze(standstill.check(start + .seconds(13)))
    let patience = BodyTimeouts(silence: .seconds(10), bytesInPeriod: nil)
    #expect(clock.fault(patience, start + .seconds(13)) == nil)
    #expect(clock.fault(patience, start + .seconds(23)) != nil)
    let connection = ServerConnection(descriptor: -1, headDeadline: start + .seconds(10))
    connection.excludeFreeze(.seconds(12))
    #expect(connection.headDeadline == start + .seconds(22))
    connection.headDeadline = nil
    connection.excludeFreeze(.seconds(12))
    #expect(connection.headDeadline == nil)
  }
}

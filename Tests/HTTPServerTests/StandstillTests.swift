import Testing

@testable import HTTPServer

@Suite struct StandstillTests {
  /// When the loop looks, in milliseconds; by how much deadlines move.
  @Test(arguments: [
    ([0, 1000, 2000], [0, 0, 0]), ([0, 1000, 2900, 3900], [0, 0, 0, 0]),
    ([0, 13_000, 14_000], [0, 12_000, 0]),
    ([0, 1000, 5000, 15_000], [0, 0, 3000, 9000]), ([500], [0]),
  ])
  func itLastsFromTheLookThatWasDue(_ looks: [Int], _ moves: [Int]) {
    let start = ContinuousClock.now
    var standstill = Standstill(period: .seconds(1))
    #expect(looks.map { standstill.end(start + .milliseconds($0)) } == moves.map { .milliseconds($0) })
  }

  /// A request that came while its reader stood still is not late.
  @Test func deadlinesMoveByIt() {
    let start = ContinuousClock.now
    var clock = BodyClock()
    clock.start(start)
    var standstill = Standstill(period: .seconds(1))
    _ = standstill.end(start)
    clock.forgive(standstill.end(start + .seconds(13)))
    let patience = BodyTimeouts(silence: .seconds(10), bytesInPeriod: nil)
    #expect(clock.fault(patience, start + .seconds(13)) == nil)
    #expect(clock.fault(patience, start + .seconds(23)) != nil)
    let connection = ServerConnection(descriptor: -1, headDeadline: start + .seconds(10))
    connection.forgive(.seconds(12))
    #expect(connection.headDeadline == start + .seconds(22))
    connection.headDeadline = nil
    connection.forgive(.seconds(12))
    #expect(connection.headDeadline == nil)
  }
}

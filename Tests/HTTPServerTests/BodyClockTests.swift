@testable import HTTPServer
import Testing

struct BodyClockTests {
  private let start = ContinuousClock.now

  @Test func itRunsFromItsStart() {
    var clock = BodyClock()
    #expect(!clock.isOver(start + .seconds(1000)))
    clock.start(seconds: 10, start)
    clock.start(seconds: 10, start + .seconds(5))
    #expect(!clock.isOver(start + .seconds(10)))
    #expect(clock.isOver(start + .seconds(11)))
  }

  @Test func bytesEarnTime() {
    var clock = BodyClock()
    clock.start(seconds: 10, start)
    clock.credit(250, perSecond: 100)
    #expect(!clock.isOver(start + .seconds(12)))
    #expect(clock.isOver(start + .seconds(13)))
  }

  @Test func itStandsStillWhileTheServerDoesNotRead() {
    var clock = BodyClock()
    clock.start(seconds: 10, start)
    clock.stop(start + .seconds(5))
    clock.stop(start + .seconds(9))
    #expect(!clock.isOver(start + .seconds(1000)))
    clock.goOn(start + .seconds(1000))
    clock.goOn(start + .seconds(2000))
    #expect(!clock.isOver(start + .seconds(1004)))
    #expect(clock.isOver(start + .seconds(1006)))
  }
}

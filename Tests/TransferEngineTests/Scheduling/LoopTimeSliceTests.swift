import Testing

@testable import TransferEngine

/// A transfer that always has bytes gives others their turn.
@Suite struct LoopTimeSliceTests {
  private static let start = ContinuousClock.now
  private static let piece = 16 * 1024

  /// Takes pieces, each after a pause, until the turn is over or there were `most`; how many.
  private static func pieces(
    of size: Int = piece, every pause: Duration = .zero, isAlone: Bool, most: Int = 10_000
  ) -> Int {
    var turn = LoopTimeSlice()
    for count in 1...most
    where turn.consume(size, at: start + pause * (count - 1), tick: 1, isAlone: isAlone) {
      return count
    }
    return most
  }

  @Test func turnEndsAfterFiveMilliseconds() {
    for isAlone in [true, false] {
      #expect(Self.pieces(of: 1, every: .microseconds(1), isAlone: isAlone) == 5001)
      #expect(Self.pieces(every: .milliseconds(2), isAlone: isAlone) == 4)
    }
  }

  @Test func turnEndsAtTheByteLimitIfNotAlone() {
    #expect(Self.pieces(isAlone: true) == 10_000)
    // Where a buffer ends with a shorter piece, and where none does.
    #expect(Self.pieces(of: Self.piece - 1, isAlone: false) == 17)
    #expect(Self.pieces(isAlone: false) == 32)
  }

  @Test func newTickStartsANewTurn() {
    var turn = LoopTimeSlice()
    for tick in 1...1000 as ClosedRange<UInt64> {
      let isOver = turn.consume(
        LoopTimeSlice.bytes - 1, at: Self.start + .milliseconds(9) * Int(tick), tick: tick, isAlone: false)
      #expect(!isOver)
    }
    let (first, second) = (
      turn.consume(1, at: Self.start, tick: 2000, isAlone: false),
      turn.consume(LoopTimeSlice.bytes, at: Self.start, tick: 2000, isAlone: false)
    )
    #expect(!first && !second)
    let third = turn.consume(1, at: Self.start, tick: 2000, isAlone: false)
    #expect(third)
  }
}

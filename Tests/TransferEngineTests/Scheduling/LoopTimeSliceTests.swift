import Testing

@testable import TransferEngine

/// A transfer that always has bytes lets others take their turn.
@Suite struct LoopTimeSliceTests {
  private static let start = ContinuousClock.now
  private static let piece = 16 * 1024

  /// Consumes pieces, each after a pause, until the turn is over. Returns the number of pieces; 0 if the turn does not end.
  private static func pieces(
    of size: Int = piece, every pause: Duration = .zero, isAlone: Bool = false, isStream: Bool = false
  ) -> Int {
    var turn = LoopTimeSlice()
    for count in 1...10_000
    where turn.consume(
      size, at: start + pause * (count - 1), tick: 1, isAlone: isAlone, isStream: isStream)
    {
      return count
    }
    return 0
  }

  @Test func `turn ends after some pieces of any size`() {
    for (isAlone, isStream) in [(true, true), (true, false), (false, true), (false, false)] {
      let count = Self.pieces(of: 1, every: .microseconds(1), isAlone: isAlone, isStream: isStream)
      #expect(count == LoopTimeSlice.pieces)
    }
  }

  @Test func turnEndsAfterFiveMillisecondsIfNotAlone() {
    #expect(Self.pieces(every: .milliseconds(2), isAlone: true) == LoopTimeSlice.pieces)
    #expect(Self.pieces(every: .milliseconds(2), isStream: true) == 4)
    #expect(Self.pieces(every: .milliseconds(2)) == 4)
  }

  @Test func turnEndsAtTheByteLimitIfNotAlone() {
    #expect(Self.pieces(isAlone: true) == LoopTimeSlice.pieces)
    #expect(Self.pieces(isStream: true) == LoopTimeSlice.pieces, "pausing a stream costs a frame")
    // With a buffer that ends with a shorter piece, and without one.
    #expect(Self.pieces(of: Self.piece - 1) == 17)
    #expect(Self.pieces() == 32)
  }

  @Test func newTickStartsANewTurn() {
    var turn = LoopTimeSlice()
    func take(_ size: Int, _ milliseconds: Int, _ tick: Int) -> Bool {
      turn.consume(
        size, at: Self.start + .milliseconds(milliseconds), tick: UInt64(tick), isAlone: false,
        isStream: false)
    }
    for tick in 1...5000 {
      let isOver = take(LoopTimeSlice.bytes - 1, 9 * tick, tick)
      #expect(!isOver)
    }
    let isOver = [take(1, 0, 9999), take(LoopTimeSlice.bytes, 0, 9999), take(1, 0, 9999)]
    #expect(isOver == [false, false, true])
  }
}

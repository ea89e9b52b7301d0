import MachineFaults
import TestSupport
import Testing

@testable import TransferCore

/// One task, and all orders in which things can happen to it: not a sample.
@Suite(.endsInTime) struct SmallWorldTests {
  @Test(arguments: [(true, false), (false, true)]) func everyOrderHolds(
    _ isDelayed: Bool, _ leaves: Bool
  ) throws {
    let count = try Self.explore(isDelayed: isDelayed, leaves: leaves)
    #expect(count > 10_000)
  }

  /// What finds nothing has to prove that it could.
  @Test(arguments: [
    Flaw.answersTwice, .asksTheCancelled, .becomesInvalidTooEarly, .countsNothingDown, .endsTwice,
    .handsNothingOver,
    .ignoresTheExpiry, .withdrawsNothing,
  ])
  func aFlawIsFound(_ flaw: Flaw) {
    #expect(throws: SmallWorld.Violation.self) {
      try flaw.whilePresent { _ = try Self.explore(isDelayed: true) }
    }
  }

  /// - Returns: how many worlds there are.
  private static func explore(isDelayed: Bool, leaves: Bool = false) throws -> Int {
    let first = try SmallWorld(isDelayed: isDelayed, leaves: leaves)
    var seen: Set<SmallWorld.Key> = [first.key]
    var next = [first]
    while let world = next.popLast() {
      try world.checkThatItEnds()
      for move in world.moves {
        var following = world
        try following.make(move)
        if seen.insert(following.key).inserted { next.append(following) }
      }
    }
    return seen.count
  }
}

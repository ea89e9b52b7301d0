import MachineFaults
import TestSupport
import Testing

@testable import TransferCore

/// Explores all states of one task exhaustively, without sampling.
@Suite(.endsInTime) struct SmallWorldTests {
  @Test(arguments: [(true, false, false), (false, true, false), (false, false, true)])
  func `every order of moves keeps the invariants`(_ isDelayed: Bool, _ leaves: Bool, _ changes: Bool) throws
  {
    let count = try Self.explore(isDelayed: isDelayed, leaves: leaves, changes: changes)
    #expect(count > 10_000)
  }

  /// A check that finds no error must prove that it could.
  @Test(arguments: [
    InjectedFault.answersTwice, .asksTheCancelled, .becomesInvalidTooEarly, .countsNothingDown, .endsTwice,
    .handsNothingOver,
    .ignoresTheExpiry, .withdrawsNothing, .startsFormerRequests,
  ])
  func `injected fault is found`(_ flaw: InjectedFault) {
    #expect(throws: TaskStateSpace.Violation.self) {
      try flaw.whilePresent { _ = try Self.explore(isDelayed: true, changes: flaw == .startsFormerRequests) }
    }
  }

  /// - Returns: the number of states.
  private static func explore(isDelayed: Bool, leaves: Bool = false, changes: Bool = false) throws -> Int {
    let first = try TaskStateSpace(isDelayed: isDelayed, leaves: leaves, changes: changes)
    var seen: Set<TaskStateSpace.Key> = [first.key]
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

import TestSupport
import Testing
import TransferCore

@testable import Simulation

/// A simulator that finds nothing has to prove that it could.
@Suite(.endsInTime) struct FlawTests {
  /// In what the service does not run on yet: they are found once it does.
  static let later: Set<Flaw> = [
    .endsTwice, .withdrawsNothing, .countsNothingDown, .handsNothingOver, .answersTwice, .finishesNoEvents,
    .becomesInvalidTooEarly, .asksTheCancelled, .ignoresTheExpiry,
  ]
  private static let seeds: UInt64 = 1500

  @Test(arguments: Flaw.allCases.filter { !later.contains($0) }) func aFlawIsFound(_ flaw: Flaw) async {
    let found = await onAThread {
      Flaw.$present.withValue(flaw) {
        (1...Self.seeds).contains { Simulation.run(Plan(seed: $0)).violation != nil }
      }
    }
    #expect(found)
  }
}

import TestSupport
import Testing
import TransferCore

@testable import Simulation

/// A simulator that finds nothing has to prove that it could.
@Suite(.endsInTime) struct FlawTests {
  /// Worlds ask delegates too seldom at the moment in which these would show.
  static let notFoundYet: Set<Flaw> = [.withdrawsNothing, .asksTheCancelled, .ignoresTheQuestionsNumber]
  private static let seeds: UInt64 = 1500

  @Test(arguments: Flaw.allCases.filter { !notFoundYet.contains($0) }) func aFlawIsFound(_ flaw: Flaw) async {
    let found = await onAThread {
      Flaw.$present.withValue(flaw) {
        (1...Self.seeds).contains { Simulation.run(Plan(seed: $0)).violation != nil }
      }
    }
    #expect(found)
  }
}

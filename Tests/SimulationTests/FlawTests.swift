import TestSupport
import Testing
import TransferCore

@testable import Simulation

/// A simulator that finds nothing has to prove that it could.
@Suite(.endsInTime) struct FlawTests {
  private static let seeds: UInt64 = 1500

  @Test(arguments: Flaw.allCases) func aFlawIsFound(_ flaw: Flaw) async {
    let found = await onAThread {
      Flaw.$present.withValue(flaw) {
        (1...Self.seeds).contains { Simulation.run(Plan(seed: $0)).violation != nil }
      }
    }
    #expect(found)
  }
}

import MachineFaults
import TestSupport
import Testing
import TransferCore

@testable import Simulation

/// A simulator that finds nothing has to prove that it could.
@Suite(.endsInTime) struct FlawTests {
  private static let seeds: UInt64 = 4000

  /// The fault is what is found: the same world holds without it.
  @Test(arguments: Flaw.allCases) func aFlawIsFound(_ flaw: Flaw) async throws {
    let seed = await onAThread {
      flaw.whilePresent {
        (1...Self.seeds).first { Simulation.run(Plan(seed: $0)).violation != nil }
      }
    }
    let plan = Plan(seed: try #require(seed))
    let violation = await onAThread { Simulation.run(plan).violation }
    #expect(violation == nil, "seed \(plan.seed)")
  }

  /// Workers that were overtaken are kept from writing as services are.
  @Test(arguments: [Flaw.ignoresTheFence, .readsTheFenceBefore, .renewsALeaseThatEnded])
  func aFlawIsFoundAmongWorkers(_ flaw: Flaw) async throws {
    @Sendable func plan(_ seed: UInt64) -> Plan {
      var plan = Plan(seed: seed, services: 1)
      (plan.kinds.workers, plan.kinds.sessionTypes) = (3, [2])
      return plan
    }
    let seed = await onAThread {
      flaw.whilePresent {
        (1...Self.seeds).first { Simulation.run(plan($0)).violation != nil }
      }
    }
    let found = plan(try #require(seed))
    let violation = await onAThread { Simulation.run(found).violation }
    #expect(violation == nil, "seed \(found.seed)")
  }
}

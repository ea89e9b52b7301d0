import MachineFaults
import TestSupport
import Testing
import TransferCore

@testable import Simulation

/// A simulator that finds no error must prove that it could.
@Suite(.endsInTime) struct InjectedFaultTests {
  private static let seeds: UInt64 = 4000

  /// The same world without the fault must have no violation.
  @Test(arguments: InjectedFault.allCases) func `injected fault is found`(_ flaw: InjectedFault) async throws
  {
    let seed = await onAThread {
      flaw.whilePresent {
        (1...Self.seeds).first { Simulation.run(Plan(seed: $0)).violation != nil }
      }
    }
    let plan = Plan(seed: try #require(seed))
    let violation = await onAThread { Simulation.run(plan).violation }
    #expect(violation == nil, "seed \(plan.seed)")
  }

  /// Overtaken workers are kept from writing in the same way as services.
  @Test(arguments: [InjectedFault.ignoresTheFence, .readsTheFenceBefore, .renewsALeaseThatEnded])
  func `injected fault of the fence is found among workers`(_ flaw: InjectedFault) async throws {
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

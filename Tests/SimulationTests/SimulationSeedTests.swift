import EventLoop
import MachineFaults
import TestSupport
import Testing
import TransferCore

@testable import Simulation

@Suite(.endsInTime) struct SimulationSeedTests {
  @Test func `seed determines every event`() async {
    for seed in UInt64(1)...40 {
      let first = await onAThread { Simulation.run(Plan(seed: seed), traces: true) }
      let second = await onAThread { Simulation.run(Plan(seed: seed), traces: true) }
      #expect(first.hash == second.hash && first.trace == second.trace, "seed \(seed)")
    }
  }

  @Test func `first worlds have no violation`() async {
    let violations = await onAThread {
      (UInt64(1)...200).compactMap { seed in
        Simulation.run(Plan(seed: seed)).violation.map { "seed \(seed): \($0)" }
      }
    }
    #expect(violations == [])
  }

  @Test func `printed step is read again`() {
    for step in Plan(seed: 3).steps { #expect(SimulationStep("\(step)") == step) }
    #expect(SimulationStep("nothing(1)") == nil && SimulationStep("work(x)") == nil)
  }

  /// The shrunk plan still fails, and no step can be removed from it.
  @Test func `failing plan shrinks to its necessary steps`() async {
    let (before, least, stillFails, isLeast) = await onAThread {
      InjectedFault.forgetsReplies.whilePresent {
        var plan = Plan(seed: 1)
        while Simulation.run(plan).violation == nil { plan = Plan(seed: plan.seed + 1) }
        let invariant = Simulation.run(plan).violation?.invariant ?? .acceptedIsKept
        let least = Simulation.shrink(plan, to: invariant)
        let isLeast = least.steps.indices.allSatisfy { index in
          var other = least
          other.steps.remove(at: index)
          return Simulation.run(other).violation?.invariant != invariant
        }
        return (
          plan.steps.count, least.steps.count, Simulation.run(least).violation?.invariant == invariant,
          isLeast
        )
      }
    }
    #expect(stillFails && isLeast && least < before)
  }
}

/// Runs the simulation outside of any Swift task.
func onAThread<T: Sendable>(_ body: @escaping @Sendable () -> T) async -> T {
  await withCheckedContinuation { continuation in
    POSIXThread.spawn(name: "world") { continuation.resume(returning: body()) }
  }
}

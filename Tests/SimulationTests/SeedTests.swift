import EventLoop
import MachineFaults
import TestSupport
import Testing
import TransferCore

@testable import Simulation

@Suite(.endsInTime) struct SeedTests {
  @Test func aSeedDecidesEverything() async {
    for seed in UInt64(1)...40 {
      let first = await onAThread { Simulation.run(Plan(seed: seed), traces: true) }
      let second = await onAThread { Simulation.run(Plan(seed: seed), traces: true) }
      #expect(first.hash == second.hash && first.trace == second.trace, "seed \(seed)")
    }
  }

  @Test func theFirstWorldsHold() async {
    let violations = await onAThread {
      (UInt64(1)...200).compactMap { seed in
        Simulation.run(Plan(seed: seed)).violation.map { "seed \(seed): \($0)" }
      }
    }
    #expect(violations == [])
  }

  @Test func aStepIsWhatItIsPrintedAs() {
    for step in Plan(seed: 3).steps { #expect(Step("\(step)") == step) }
    #expect(Step("nothing(1)") == nil && Step("work(x)") == nil)
  }

  /// What is left of a world still fails, and nothing can be taken from it.
  @Test func aPlanShrinksToTheStepsThatFail() async {
    let (before, least, stillFails, isLeast) = await onAThread {
      Flaw.forgetsReplies.whilePresent {
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

/// A world has no task of its own beside those that it runs.
func onAThread<T: Sendable>(_ body: @escaping @Sendable () -> T) async -> T {
  await withCheckedContinuation { continuation in
    Thread.spawn(name: "world") { continuation.resume(returning: body()) }
  }
}

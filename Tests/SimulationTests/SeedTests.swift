import EventLoop
import TestSupport
import Testing

@testable import Simulation

@Suite(.endsInTime) struct SeedTests {
  @Test func aSeedDecidesEverything() async {
    for seed in UInt64(1)...20 {
      let first = await onAThread { Simulation.run(Plan(seed: seed)) }
      let second = await onAThread { Simulation.run(Plan(seed: seed)) }
      #expect(first.hash == second.hash && first.steps == second.steps && first.lives == second.lives)
    }
  }
}

/// A world has no task of its own beside those that it runs.
func onAThread<T: Sendable>(_ body: @escaping @Sendable () -> T) async -> T {
  await withCheckedContinuation { continuation in
    Thread.spawn(name: "world") { continuation.resume(returning: body()) }
  }
}

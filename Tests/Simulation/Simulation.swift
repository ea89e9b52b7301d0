/// Runs worlds by their plans, and shrinks a plan that fails.
package enum Simulation {
  /// The outcome of a world.
  package struct Outcome: Sendable {
    package let violation: Violation?
    package let hash: UInt64
    package let steps: Int
    package let lives: Int
    package let faults: Int
    package let trace: [String]
  }

  package static func run(_ plan: Plan, traces: Bool = false) -> Outcome {
    let world = SimulatedWorld(plan, traces: traces)
    var violation: Violation?
    do throws(Violation) { try world.live() } catch { violation = error }
    return Outcome(
      violation: violation, hash: world.hash, steps: world.stepCount, lives: world.lives,
      faults: world.faultCount, trace: world.trace ?? [])
  }

  /// Returns the smallest set of steps that still breaks the invariant (Zeller, Hildebrandt: Simplifying and Isolating Failure-Inducing
  /// Input). It removes halves, quarters, … and finally single steps, as long as the violation remains.
  package static func shrink(_ plan: Plan, to invariant: Invariant, most runs: Int = 2000) -> Plan {
    var plan = plan
    var left = runs
    func fails(_ steps: [SimulationStep]) -> Bool {
      left -= 1
      var other = plan
      other.steps = steps
      return run(other).violation?.invariant == invariant
    }
    // Steps after the failing one are useless.
    if let violation = run(plan).violation, violation.step < plan.steps.count {
      let steps = Array(plan.steps.prefix(violation.step))
      if fails(steps) { plan.steps = steps }
    }
    var size = max(1, plan.steps.count / 2)
    while left > 0 {
      var index = 0
      var hasShrunk = false
      while index < plan.steps.count, left > 0 {
        var steps = plan.steps
        steps.removeSubrange(index..<min(index + size, steps.count))
        if fails(steps) {
          plan.steps = steps
          hasShrunk = true
        } else {
          index += size
        }
      }
      if size == 1, !hasShrunk { break }
      if size > 1 { size /= 2 }
    }
    return plan
  }
}

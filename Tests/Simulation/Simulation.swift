/// Worlds by their seeds, and what is left of one that fails.
package enum Simulation {
  /// What became of a world.
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

  /// The least steps with which the world still breaks that promise (Zeller, Hildebrandt: Simplifying and Isolating Failure-Inducing
  /// Input): halves, quarters, … and at last each single step are left out, as long as that changes nothing.
  package static func shrink(_ plan: Plan, to invariant: Invariant, most runs: Int = 2000) -> Plan {
    var plan = plan
    var left = runs
    func fails(_ steps: [Step]) -> Bool {
      left -= 1
      var other = plan
      other.steps = steps
      return run(other).violation?.invariant == invariant
    }
    // What comes behind the step that failed is of no use.
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

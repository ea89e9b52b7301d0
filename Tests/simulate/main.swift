import EventLoop
import Glibc
import MachineFaults
import Simulation
import TransferCore

// `make simulate`: random seeds for a time, or one seed with its trace.

func option(_ name: String) -> UInt64? {
  let words = CommandLine.arguments
  guard let index = words.firstIndex(of: "--" + name), index + 1 < words.count else { return nil }
  return UInt64(words[index + 1])
}

/// The number of services in each world; `nil` to derive it from each seed.
let services = option("services").map { Int($0) }

func report(_ plan: Plan, _ violation: Violation) {
  print("\nseed \(plan.seed) breaks \(violation)")
  let least = Simulation.shrink(plan, to: violation.invariant)
  let outcome = Simulation.run(least, traces: true)
  print("\nthe shortest sequence that still breaks it, \(least.steps.count) of \(plan.steps.count) steps:\n")
  for line in outcome.trace { print(line) }
  if let violation = outcome.violation { print("\n\(violation)") }
  print("\nmake simulate SEED=\(plan.seed)\(services.map { " SERVICES=\($0)" } ?? "")")
}

#if DEBUG
  /// Measures how soon each deliberate fault is found.
  func findFlaws() -> Int32 {
    var missed = 0
    for (number, flaw) in InjectedFault.allCases.enumerated()
    where option("flaw").map({ $0 == number }) ?? true {
      let begin = ContinuousClock.now
      var (seed, found): (UInt64, Violation?) = (0, nil)
      flaw.whilePresent {
        while found == nil, seed < 3000 {
          seed += 1
          found = Simulation.run(Plan(seed: seed)).violation
        }
      }
      // A violation that occurs without the fault, too, is another error.
      let other = found.flatMap { _ in Simulation.run(Plan(seed: seed)).violation }
      if found == nil || other != nil { missed += 1 }
      let what =
        other.map { "broken without the fault, too: \($0)" } ?? found.map { "\($0.invariant)" } ?? "not found"
      print("\(flaw): \(what) with \(seed) worlds in \((ContinuousClock.now - begin).components.seconds) s")
    }
    return missed == 0 ? 0 : 1
  }
#endif

func simulate() -> Int32 {
  if let seed = option("seed") {
    let plan = Plan(seed: seed, services: services)
    let outcome = Simulation.run(plan, traces: true)
    for line in outcome.trace { print(line) }
    print("hash \(String(outcome.hash, radix: 16)), \(outcome.steps) steps, \(outcome.lives) lives")
    guard let violation = outcome.violation else { return 0 }
    report(plan, violation)
    return 1
  }
  #if DEBUG
    if option("flaws") != nil || option("flaw") != nil { return findFlaws() }
  #endif
  let seconds = option("seconds") ?? 120
  let first = option("from") ?? .random(in: 0...UInt64.max >> 16)
  let most = option("worlds") ?? .max
  let begin = ContinuousClock.now
  var (worlds, steps, lives, faults, found): (UInt64, Int, Int, Int, Int) = (0, 0, 0, 0, 0)
  var hash: UInt64 = 0
  while ContinuousClock.now - begin < .seconds(Int64(seconds)), worlds < most {
    let plan = Plan(seed: first &+ worlds, services: services)
    let outcome = Simulation.run(plan)
    worlds += 1
    steps += outcome.steps
    lives += outcome.lives
    faults += outcome.faults
    hash = hash &* 31 &+ outcome.hash
    if let violation = outcome.violation {
      found += 1
      if option("list") != nil {
        print("\(plan.seed) \(violation)")
      } else {
        report(plan, violation)
        break
      }
    }
  }
  var used = timespec()
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used)
  let time = Double(used.tv_sec) + Double(used.tv_nsec) * 1e-9
  func rate(_ count: Int) -> Int { Int(Double(count) / max(time, 0.001)) }
  print(
    "\(worlds) worlds from seed \(first) with \(Int(time)) s of a core: \(steps) steps, \(lives) task lives, \(faults) faults; "
      + "a second: \(rate(Int(worlds))) worlds, \(rate(steps)) steps, \(rate(lives)) lives, \(rate(faults)) faults; "
      + "hash \(String(hash, radix: 16))")
  return found == 0 ? 0 : 1
}

// The simulation must run on a thread outside of Swift's pool, because it must not be part of a Swift task.
POSIXThread.spawn(name: "worlds") { exit(simulate()) }
while true { pause() }

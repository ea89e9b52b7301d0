/// Wraps the machines with a deliberate fault, to prove that the simulator finds it. `Tests/MachineFaults` implements it. Debug builds only.
package protocol FaultInjector: Sendable {
  /// Does what `SessionMachine.handle` does, but for the fault.
  func handle(
    _ input: Input, at now: Now, into turn: inout Turn, by machine: inout SessionMachine
  ) -> Reply
  /// Does what `WorkerMachine.handle` does, but for the fault.
  func handle(
    _ input: WorkerInput, at now: Now, into turn: inout WorkerTurn, by machine: inout WorkerMachine)
}

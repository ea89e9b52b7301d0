/// A wrapper that adds a deliberate fault to the machines, to prove that the simulator finds it. `Tests/MachineFaults` implements it. Debug
/// builds only.
package protocol FaultInjector: Sendable {
  /// Does what `SessionMachine.handle` does, with the fault.
  func handle(
    _ input: SessionInput, at now: InputContext, into effects: inout SessionEffects,
    by machine: inout SessionMachine
  ) -> InputResult
  /// Does what `WorkerMachine.handle` does, with the fault.
  func handle(
    _ input: WorkerInput, at now: InputContext, into effects: inout WorkerEffects,
    by machine: inout WorkerMachine)
}

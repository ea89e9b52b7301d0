/// Handles inputs in place of the machines, with a deliberate fault: a simulator that finds nothing has to prove that it could. Tests have
/// the faults. A release build injects none.
package protocol FaultInjector: Sendable {
  /// Does what `SessionMachine.handle` does, but for the fault.
  func handle(
    _ input: Input, at now: Now, into turn: inout Turn, by machine: inout SessionMachine
  ) -> Reply
  /// Does what `WorkerMachine.handle` does, but for the fault.
  func handle(
    _ input: WorkerInput, at now: Now, into turn: inout WorkerTurn, by machine: inout WorkerMachine)
}

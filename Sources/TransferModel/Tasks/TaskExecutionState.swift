/// The execution state of a task, between its creation and its end.
///
/// | from | to | when |
/// |---|---|---|
/// | `creating` | `idle` | its creation is committed |
/// | `idle` | `idle` | `goesOn` changes |
/// | `idle` | `executing` | it is submitted to the engine or the worker |
/// | `unconfirmed` | `executing`, `idle` | recovery finds it in the worker, or does not |
/// | `executing` | `idle` | its attempt has failed, and another follows |
/// | `executing` | `leaving` | the session is handed over to another service |
/// | `executing`, `leaving` | `restarting` | a client changes its request |
/// | `leaving`, `restarting` | `idle` | the engine has stopped |
/// | `idle`, `unconfirmed`, `executing`, `leaving` | `placing` | its body has arrived and becomes a file at its destination |
/// | `idle`, `unconfirmed`, `executing`, `leaving`, `restarting`, `placing` | `ending` | it ends |
///
/// Three other values complete the state of a task. `TaskLifecycle` is the state that clients control. `FirstAttemptState` is the progress
/// of the first attempt. `TaskPhase` is the activity that clients were last notified of.
package enum TaskExecutionState: Sendable, Equatable {
  /// The commit with its row has not succeeded yet.
  case creating
  /// Not submitted.
  /// - Parameter goesOn: stored in the row: another service submits the task after a crash or a handover.
  case idle(goesOn: Bool)
  /// Read from its row. The worker may have the task.
  case unconfirmed
  /// The engine or the worker runs the task.
  case executing
  /// The engine is stopping the task. Another service continues it.
  case leaving
  /// The engine is stopping an attempt whose request has changed. Another attempt follows.
  /// - Parameter isMoved: whether the URL has changed.
  case restarting(isMoved: Bool)
  /// The transfer has ended. The service moves the body to the task's destination.
  case placing
  /// The task has ended. The commit with its end has not succeeded yet.
  case ending

  package var goesOn: Bool { self == .idle(goesOn: true) }

  /// Whether commands go to the engine or the worker, which has the task or may have it.
  package var isSubmitted: Bool {
    switch self {
    case .executing, .leaving, .restarting, .unconfirmed: true
    case .creating, .idle, .placing, .ending: false
    }
  }

  /// Whether the table above lists the transition.
  package func mayBecome(_ next: TaskExecutionState) -> Bool {
    switch (self, next) {
    case (.creating, .idle), (.idle, .idle), (.unconfirmed, .idle), (.executing, .idle), (.leaving, .idle),
      (.restarting, .idle):
      true
    case (.idle, .executing), (.unconfirmed, .executing), (.executing, .leaving): true
    case (.executing, .restarting), (.leaving, .restarting), (.restarting, .restarting): true
    case (.idle, .placing), (.unconfirmed, .placing), (.executing, .placing), (.leaving, .placing): true
    case (.idle, .ending), (.unconfirmed, .ending), (.executing, .ending), (.leaving, .ending),
      (.restarting, .ending), (.placing, .ending):
      true
    default: false
    }
  }
}

/// Where a task is carried out, between its creation and its end.
///
/// | from | to | when |
/// |---|---|---|
/// | `creating` | `idle` | its creation is committed |
/// | `idle` | `idle` | `goesOn` changes |
/// | `idle` | `carried` | it is submitted to the engine or the worker |
/// | `uncertain` | `carried`, `idle` | recovery finds it in the worker, or does not |
/// | `carried` | `leaving` | the session is handed over to another process |
/// | `leaving` | `idle` | the engine has stopped |
/// | `idle`, `uncertain`, `carried`, `leaving` | `ending` | it ends |
///
/// Three other values complete the state of a task. `TaskLifecycle` is what clients want of it, `TaskBeginning` is how far its first
/// attempt has come, and `TaskPhase` is the activity that clients were last told of.
package enum TaskPlace: Sendable, Equatable {
  /// The commit with its row has not succeeded yet.
  case creating
  /// Not submitted.
  /// - Parameter goesOn: stored in the row: another process submits the task after a crash or a handover.
  case idle(goesOn: Bool)
  /// Read from its row; the worker may have the task.
  case uncertain
  /// The engine or the worker carries it out.
  case carried
  /// The engine was told to stop. Another process continues the task.
  case leaving
  /// It has ended. The commit with its end has not succeeded yet.
  case ending

  package var goesOn: Bool { self == .idle(goesOn: true) }

  /// Commands go to the engine or the worker, which has the task or may have it.
  package var isSubmitted: Bool {
    switch self {
    case .carried, .leaving, .uncertain: true
    case .creating, .idle, .ending: false
    }
  }

  /// Whether the table above lists the transition.
  package func mayBecome(_ next: TaskPlace) -> Bool {
    switch (self, next) {
    case (.creating, .idle), (.idle, .idle), (.uncertain, .idle), (.leaving, .idle): true
    case (.idle, .carried), (.uncertain, .carried), (.carried, .leaving): true
    case (.idle, .ending), (.uncertain, .ending), (.carried, .ending), (.leaving, .ending): true
    default: false
    }
  }
}

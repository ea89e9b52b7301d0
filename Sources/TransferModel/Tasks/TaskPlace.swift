/// Who carries a task out, between its creation and its end.
///
/// | from | to | when |
/// |---|---|---|
/// | `creating` | `idle` | the commit that creates it holds |
/// | `idle` | `idle` | it waits for room or for another process, and its row says so; or it does so no longer |
/// | `idle` | `carried` | it is handed over |
/// | `uncertain` | `carried`, `idle` | the worker has it, or has it not |
/// | `carried` | `leaving` | another process takes the session over |
/// | `leaving` | `idle` | the engine has stopped |
/// | all but `creating` | `ending` | it ends |
///
/// Three other values say what this one does not: `TaskLifecycle` what clients want of the task, `TaskBeginning` how far its beginning has
/// come, and `TaskPhase` what clients were told that it does.
package enum TaskPlace: Sendable, Equatable {
  /// Its row is in a commit that does not hold yet.
  case creating
  /// Nobody carries it out.
  /// - Parameter goesOn: its row says so, and another process may begin it, or go on with it.
  case idle(goesOn: Bool)
  /// Its row was read. An earlier process may have handed it over to the worker.
  case uncertain
  /// The engine or the worker carries it out.
  case carried
  /// The engine was told to stop: the task goes on at another process.
  case leaving
  /// It has ended; the commit that says so does not hold yet.
  case ending

  package var goesOn: Bool { self == .idle(goesOn: true) }

  /// Whoever carries the task out hears of what clients do with it.
  package var isSubmitted: Bool {
    switch self {
    case .carried, .leaving, .uncertain: true
    case .creating, .idle, .ending: false
    }
  }

  /// Whether the table above has it.
  package func mayBecome(_ next: TaskPlace) -> Bool {
    switch (self, next) {
    case (.creating, .idle), (.idle, .idle), (.uncertain, .idle), (.leaving, .idle): true
    case (.idle, .carried), (.uncertain, .carried), (.carried, .leaving): true
    case (.idle, .ending), (.uncertain, .ending), (.carried, .ending), (.leaving, .ending): true
    default: false
    }
  }
}

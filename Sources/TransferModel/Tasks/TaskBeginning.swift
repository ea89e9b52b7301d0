/// How far the beginning of a task has come. It never goes back before the task ends.
package enum TaskBeginning: Sendable, Equatable {
  case notYet
  /// Its begin date has come, and its delegate was told. A row does not say so: the decision's does.
  case announced
  /// Whoever carries it out was given it, and has not told that it began: its request may have gone out.
  case submitted
  case started(Timestamp)

  package var startedAt: Timestamp? { if case .started(let time) = self { time } else { nil } }

  /// Its request went out, or may have.
  package var mayHaveBegun: Bool { self == .submitted || startedAt != nil }

  package mutating func announce() { if self == .notYet { self = .announced } }

  package mutating func submit() { if startedAt == nil { self = .submitted } }

  package mutating func start(at time: Timestamp) { if startedAt == nil { self = .started(time) } }

  /// A task that has ended says only when it started.
  package mutating func end() { if startedAt == nil { self = .notYet } }
}

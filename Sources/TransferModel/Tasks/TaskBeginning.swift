/// How far the first attempt of a task has come. It only advances, in this order, until the task ends.
package enum TaskBeginning: Sendable, Equatable {
  case notYet
  /// Its begin date has come, and its delegate was told or asked. The decision's row says so, not the task's.
  case announced
  /// Submitted, start not confirmed: the request may have been sent.
  case submitted
  case started(Timestamp)

  package var startedAt: Timestamp? { if case .started(let time) = self { time } else { nil } }

  /// Its request was sent, or may have been.
  package var mayHaveBegun: Bool { self == .submitted || startedAt != nil }

  package mutating func announce() { if self == .notYet { self = .announced } }

  package mutating func submit() { if startedAt == nil { self = .submitted } }

  package mutating func start(at time: Timestamp) { if startedAt == nil { self = .started(time) } }

  /// The task ends. Only the time of a start is kept.
  package mutating func end() { if startedAt == nil { self = .notYet } }
}

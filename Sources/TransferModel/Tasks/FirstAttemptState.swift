/// The progress of a task's first attempt. The value only advances, in this order, until the task ends or its request changes.
package enum FirstAttemptState: Sendable, Equatable {
  case notStarted
  /// The begin date has come, and the delegate was notified or must decide. The decision's row records this, not the task's.
  case announced
  /// Submitted, start not confirmed: the request may have been sent.
  case submitted
  case started(Timestamp)

  package var startedAt: Timestamp? { if case .started(let time) = self { time } else { nil } }

  /// Whether the request was sent, or may have been.
  package var mayHaveBegun: Bool { self == .submitted || startedAt != nil }

  package mutating func announce() { if self == .notStarted { self = .announced } }

  package mutating func submit() { if startedAt == nil { self = .submitted } }

  /// Records that the request was not sent after all.
  package mutating func withdraw() { if self == .submitted { self = .announced } }

  package mutating func start(at time: Timestamp) { if startedAt == nil { self = .started(time) } }

  /// Records the end of the task. Only the time of a start is kept.
  package mutating func end() { if startedAt == nil { self = .notStarted } }
}

/// The history of a task's attempts: the failures, for the backoff, and the time, for `timeoutIntervalForResource`.
package protocol AttemptProgress {
  /// The number of failed attempts since one got further than all earlier ones.
  var failures: Int { get set }
  /// The highest byte offset that an attempt reached.
  var furthest: Int64 { get set }
  /// The start of the first attempt, from which `timeoutIntervalForResource` counts.
  var startedAt: Timestamp? { get set }
  /// The time of the suspension; `nil` if the task is not suspended.
  var suspendedAt: Timestamp? { get set }
}

extension AttemptProgress {
  /// Counts a failure that got as far as an offset.
  package mutating func fail(at offset: Int64) {
    failures = offset > furthest ? 1 : failures + 1
    furthest = max(offset, furthest)
  }

  /// Ends a suspension. A suspended task has no timeouts, so its start moves by the time of the suspension.
  package mutating func endSuspension(at time: Timestamp) {
    defer { suspendedAt = nil }
    guard let start = startedAt, let suspendedAt else { return }
    startedAt = start.adding(seconds: max(0, time.since(max(start, suspendedAt))))
  }
}

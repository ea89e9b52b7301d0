/// A row of the journal, as far as its age matters.
package struct AgedEvents: Sendable, Equatable {
  /// The last of its sequence numbers.
  package let last: Int64
  /// When the first of them happened.
  package let time: Timestamp
  /// A message of its task is yet to be delivered.
  package let isHeld: Bool

  package init(last: Int64, time: Timestamp, isHeld: Bool) {
    self.last = last
    self.time = time
    self.isHeld = isHeld
  }
}

/// How much of the journal's beginning is gone.
package struct PrunedEvents: Sendable, Equatable {
  /// The last sequence number that is gone; 0 where none is.
  package var through: Int64
  /// When the newest of what is gone happened.
  package var time: Timestamp

  package static let none = PrunedEvents(through: 0, time: Timestamp(microseconds: 0))

  package init(through: Int64, time: Timestamp) {
    self.through = through
    self.time = time
  }

  /// What may go of the journal's first rows: up to the first that is younger, or held. Nil where nothing may.
  package init?(of rows: [AgedEvents], upTo time: Timestamp) {
    let old = rows.prefix { !$0.isHeld && $0.time <= time }
    guard let last = old.last, let newest = old.map(\.time).max() else { return nil }
    self.init(through: last.last, time: newest)
  }

  package func merged(with other: PrunedEvents) -> PrunedEvents {
    PrunedEvents(through: max(through, other.through), time: max(time, other.time))
  }

  /// Whether a reader of `scope` who has seen all up to `sequence` may have missed something. A session or a task that is
  /// younger than what is gone has all that it ever had.
  package func mayHaveTaken(from scope: EventScope, after sequence: Int64) -> Bool {
    guard sequence < through else { return false }
    // Ids may run ahead of the clock, where many are made at once.
    let newest = time.milliseconds + 1000
    return switch scope {
    // It is counted for each tenant.
    case .tenant: true
    case .session(let id): id.milliseconds <= newest
    case .task(let id): id.milliseconds <= newest
    }
  }
}

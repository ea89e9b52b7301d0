/// The members of a journal row that determine whether it may be deleted.
package struct JournalRowAge: Sendable, Equatable {
  /// The highest sequence number in the row.
  package let last: Int64
  /// The time of the first event in the row.
  package let time: Timestamp
  /// Whether a message of the row's task is still undelivered.
  package let isHeld: Bool

  package init(last: Int64, time: Timestamp, isHeld: Bool) {
    self.last = last
    self.time = time
    self.isHeld = isHeld
  }
}

/// The deleted beginning of the journal.
package struct PrunedEvents: Sendable, Equatable {
  /// The highest deleted sequence number; 0 if nothing was deleted.
  package var through: Int64
  /// The time of the newest deleted event.
  package var time: Timestamp

  package static let none = PrunedEvents(through: 0, time: Timestamp(microseconds: 0))

  package init(through: Int64, time: Timestamp) {
    self.through = through
    self.time = time
  }

  /// Computes the rows to delete from the journal's first rows: all before the first that is younger than `time` or held. Returns `nil` if
  /// there are none.
  package init?(of rows: [JournalRowAge], upTo time: Timestamp) {
    let old = rows.prefix { !$0.isHeld && $0.time <= time }
    guard let last = old.last, let newest = old.map(\.time).max() else { return nil }
    self.init(through: last.last, time: newest)
  }

  package func merged(with other: PrunedEvents) -> PrunedEvents {
    PrunedEvents(through: max(through, other.through), time: max(time, other.time))
  }

  /// Returns whether a reader of `scope` that has read up to `sequence` may have missed events. A session or a task younger than the
  /// deleted events has lost none.
  package func affects(from scope: EventScope, after sequence: Int64) -> Bool {
    guard sequence < through else { return false }
    // Ids may run ahead of the clock if many are created at once.
    let newest = time.milliseconds + 1000
    return switch scope {
    // Deleted events are recorded for each tenant.
    case .tenant: true
    case .session(let id): id.milliseconds <= newest
    case .task(let id): id.milliseconds <= newest
    }
  }
}

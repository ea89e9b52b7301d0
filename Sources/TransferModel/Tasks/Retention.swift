/// How long what is finished is kept, and how many bytes of it.
package struct Retention: Sendable, Equatable {
  /// Seconds for which a task is kept after its end.
  package var tasks = 2_592_000.0
  /// Seconds for which the journal keeps an event.
  package var events = 604_800.0
  /// Seconds for which a message is kept after it was taken or given up.
  package var deliveries = 604_800.0
  /// Bytes that what finished tasks left may take on the disk, together; nil: any number.
  package var maximumBodyBytes: Int64?

  package init() {}
}

/// What a task that has ended, and that nothing holds, takes up.
package struct FinishedTask: Sendable, Equatable {
  package let id: TaskID
  package let sessionID: SessionID
  package let endedAt: Timestamp
  /// Until when its body, or what it can go on from, is kept; nil where it left neither.
  package let keptUntil: Timestamp?
  /// Bytes of that.
  package let keptBytes: Int64
  /// Its request had a body that came with it, which may be in a file.
  package let hadBody: Bool

  package init(
    id: TaskID, sessionID: SessionID, endedAt: Timestamp, keptUntil: Timestamp?, keptBytes: Int64,
    hadBody: Bool = false
  ) {
    self.id = id
    self.sessionID = sessionID
    self.endedAt = endedAt
    self.keptUntil = keptUntil
    self.keptBytes = keptBytes
    self.hadBody = hadBody
  }
}

/// Which finished tasks are asked for, and in which order.
package enum FinishedTaskQuery: Sendable {
  /// The first that ended.
  case ended(by: Timestamp)
  /// Those whose body expired first.
  case expired(by: Timestamp)
  /// The first that ended, of those whose bodies take room on the disk.
  case keeping
}

/// What goes of finished tasks: first what is too old, then, as long as the rest is too much, the oldest of it. Pure.
package struct RetentionPlan: Sendable, Equatable {
  /// Go with all that is known of them.
  package private(set) var tasks: [FinishedTask] = []
  /// Stay, without what they left.
  package private(set) var bodies: [FinishedTask] = []
  /// Bytes that are kept when that is done.
  package private(set) var keptBytes: Int64

  /// - Parameter keptBytes: what all finished tasks keep, those included that are not in `finished`.
  package init(for finished: [FinishedTask], keptBytes: Int64, by retention: Retention, at time: Timestamp) {
    self.keptBytes = keptBytes
    let oldestEnd = time.adding(seconds: -retention.tasks)
    var staying: [FinishedTask] = []
    for task in finished.sorted(by: { ($0.endedAt, $0.id) < ($1.endedAt, $1.id) }) {
      if task.endedAt <= oldestEnd {
        tasks.append(task)
      } else if let end = task.keptUntil, end <= time {
        bodies.append(task)
      } else {
        staying.append(task)
        continue
      }
      self.keptBytes -= task.keptBytes
    }
    guard let quota = retention.maximumBodyBytes else { return }
    for task in staying where self.keptBytes > quota && task.keptBytes > 0 {
      bodies.append(task)
      self.keptBytes -= task.keptBytes
    }
  }

  package var isEmpty: Bool { tasks.isEmpty && bodies.isEmpty }
}

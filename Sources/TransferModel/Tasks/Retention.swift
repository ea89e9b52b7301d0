/// The retention times and the size limit of finished data.
package struct Retention: Sendable, Equatable {
  /// Seconds for which a task is kept after its end.
  package var tasks = 2_592_000.0
  /// Seconds for which the journal keeps an event.
  package var events = 604_800.0
  /// Seconds for which a message is kept after it was delivered or given up.
  package var deliveries = 604_800.0
  /// The limit in bytes for the bodies and partial bodies of all finished tasks on disk; `nil` for no limit.
  package var maximumBodyBytes: Int64?

  package init() {}
}

/// An ended task that may be pruned, with the space that it takes.
package struct FinishedTask: Sendable, Equatable {
  package let id: TaskID
  package let sessionID: SessionID
  package let endedAt: Timestamp
  /// The time at which its body or partial body expires; `nil` if it has neither.
  package let keptUntil: Timestamp?
  /// The bytes of its body or partial body.
  package let keptBytes: Int64
  /// Whether a body came with the task's request. The body may be in a file.
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

/// The selection of finished tasks, with its order.
package enum FinishedTaskQuery: Sendable {
  /// All that ended by a time, in the order of their ends.
  case ended(by: Timestamp)
  /// All whose bodies expired by a time, in the order of expiry.
  case expired(by: Timestamp)
  /// All whose bodies take disk space, in the order of their ends.
  case keeping
}

/// The finished tasks to prune: expired ones, then the oldest ones while the total is above the limit. A plain value.
package struct RetentionPlan: Sendable, Equatable {
  /// The tasks to delete.
  package private(set) var tasks: [FinishedTask] = []
  /// The tasks that stay without their bodies.
  package private(set) var bodies: [FinishedTask] = []
  /// The bytes kept after the plan is executed.
  package private(set) var keptBytes: Int64

  /// - Parameter keptBytes: the bytes that all finished tasks keep, including tasks that are not in `finished`.
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

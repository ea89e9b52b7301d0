package import TransferModel

/// The schedule of discretionary tasks, which yield to all other background tasks and run only when the operator allows it. A plain value.
package struct DiscretionMachine: Sendable {
  private let policy: DiscretionaryPolicy
  /// The tasks that were submitted to the engine.
  package private(set) var active: Set<TaskID> = []
  /// The active tasks that discretionary ones yield to: not discretionary, and not suspended.
  private var busy: Set<TaskID> = []
  /// The active discretionary tasks that run and may be held.
  private var running: Set<TaskID> = []
  /// The discretionary tasks that are held, or are ready and wait for others.
  private var yielding: Set<TaskID> = []

  package init(policy: DiscretionaryPolicy) { self.policy = policy }

  func mayRun(at now: InputContext) -> Bool {
    policy.mayRun(at: now.wall, load: now.load, othersAreActive: !busy.isEmpty)
  }

  /// Whether no discretionary task runs or waits.
  var isQuiet: Bool { running.isEmpty && yielding.isEmpty }

  mutating func begin(_ task: TaskID, isDiscretionary: Bool) {
    yielding.remove(task)
    active.insert(task)
    if isDiscretionary { running.insert(task) } else { busy.insert(task) }
  }

  mutating func end(_ task: TaskID) {
    active.remove(task)
    busy.remove(task)
    running.remove(task)
    yielding.remove(task)
  }

  /// Records that a task was suspended.
  /// - Returns: Whether discretionary tasks may now be able to run.
  mutating func suspend(_ task: TaskID) -> Bool { busy.remove(task) != nil }

  mutating func resume(_ task: TaskID) { busy.insert(task) }

  mutating func yield(_ task: TaskID) { yielding.insert(task) }

  func yields(_ task: TaskID) -> Bool { yielding.contains(task) }

  /// Holds the running discretionary tasks for others, and returns them.
  mutating func hold() -> [TaskID] {
    defer { running = [] }
    yielding.formUnion(running)
    return running.sorted()
  }

  /// Ends the hold, and returns the tasks that may continue.
  mutating func release() -> [TaskID] {
    defer { yielding = [] }
    return yielding.sorted()
  }

  /// Stops holding a task.
  mutating func stopHolding(_ task: TaskID) { yielding.remove(task) }

  mutating func markRunning(_ task: TaskID) { running.insert(task) }
}

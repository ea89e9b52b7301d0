package import TransferModel

/// Discretionary tasks yield to the others of background sessions, and run when the operator lets them. A plain value.
package struct DiscretionMachine: Sendable {
  private let policy: DiscretionaryPolicy
  /// Those that the engine has.
  package private(set) var active: Set<TaskID> = []
  /// Those of them that others yield to: they are not discretionary, and not suspended.
  private var busy: Set<TaskID> = []
  /// Discretionary ones that the engine has, that are not held, and that others may hold.
  private var running: Set<TaskID> = []
  /// Discretionary tasks that are ready but for others.
  private var yielding: Set<TaskID> = []

  package init(policy: DiscretionaryPolicy) { self.policy = policy }

  func mayRun(at now: Now) -> Bool {
    policy.mayRun(at: now.wall, load: now.load, othersAreActive: !busy.isEmpty)
  }

  /// Nobody waits, and nobody is held.
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

  /// True where discretionary tasks may run now that this one does nothing.
  mutating func suspend(_ task: TaskID) -> Bool { busy.remove(task) != nil }

  mutating func resume(_ task: TaskID) { busy.insert(task) }

  mutating func yield(_ task: TaskID) { yielding.insert(task) }

  func yields(_ task: TaskID) -> Bool { yielding.contains(task) }

  /// Others have come: those that run are held, and are given here.
  mutating func hold() -> [TaskID] {
    defer { running = [] }
    yielding.formUnion(running)
    return running.sorted()
  }

  /// Those that go on.
  mutating func release() -> [TaskID] {
    defer { yielding = [] }
    return yielding.sorted()
  }

  /// It does not yield to others any more.
  mutating func finish(_ task: TaskID) { yielding.remove(task) }

  mutating func run(_ task: TaskID) { running.insert(task) }
}

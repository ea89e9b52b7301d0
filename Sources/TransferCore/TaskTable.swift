package import TransferModel

/// The unfinished tasks of a session, by id. A value type. Each task has its own heap object, so that a growing table moves no task.
package struct TaskTable: Sendable {
  /// Unchecked: a table changes a box only if it has the only reference to the box.
  private final class Box: @unchecked Sendable {
    var machine: TaskMachine
    init(_ machine: TaskMachine) { self.machine = machine }
  }
  private var boxes: [TaskID: Box] = [:]
  private(set) var evicted: [TaskID: EvictedTask] = [:]

  package init() {}

  package var count: Int { boxes.count + evicted.count }
  /// The ids in order, which is the order of creation.
  package var ids: [TaskID] { (Array(boxes.keys) + evicted.keys).sorted() }

  /// The machine of a task; `nil` for an evicted task, too.
  package subscript(id: TaskID) -> TaskMachine? { boxes[id]?.machine }

  /// Reads a task in place. Returns `nil` for an evicted task, too.
  func read<Result>(_ id: TaskID, _ body: (borrowing TaskMachine) -> Result) -> Result? {
    boxes[id].map { body($0.machine) }
  }

  package func contains(_ id: TaskID) -> Bool { boxes[id] != nil || isEvicted(id) }

  /// Returns whether the task must be read from its row.
  package func isEvicted(_ id: TaskID) -> Bool { evicted[id] != nil }

  /// Returns whether a task has a begin date and satisfies the predicate. An evicted task with a begin date always counts.
  package func hasBeginDate(where predicate: (TransferTask) -> Bool) -> Bool {
    evicted.values.contains(where: \.hasBeginDate)
      || boxes.values.contains { $0.machine.task.earliestBeginDate != nil && predicate($0.machine.task) }
  }

  // MARK: Eviction

  /// Evicts a task whose row is complete, unless the task has changed since.
  mutating func evict(_ eviction: Eviction) {
    guard let machine = boxes[eviction.task]?.machine, machine.revision == eviction.revision,
      let rest = EvictedTask(machine)
    else { return }
    evicted[eviction.task] = rest
    boxes[eviction.task] = nil
  }

  /// - Parameter task: the task as read from its row.
  /// - Returns: whether it was evicted.
  mutating func load(_ task: TransferTask) -> Bool {
    guard let rest = evicted.removeValue(forKey: task.id) else { return false }
    var machine = TaskMachine(task, at: .idle(goesOn: task.executionState.goesOn))
    // Only `announced` is kept in memory. The rest comes from the row, which a new owner may have written.
    if rest.firstAttempt == .announced { machine.task.firstAttempt.announce() }
    machine.revision = rest.revision
    if let time = rest.notBefore { machine.change { $0.notBefore = time } }
    insert(machine)
    return true
  }

  /// Records that the start of an evicted task was announced.
  mutating func hadBegun(evicted id: TaskID) { evicted[id]?.firstAttempt.announce() }

  /// Whether no task in memory is submitted, has an open decision, or has a client that sends its body.
  var areIdle: Bool {
    boxes.values.allSatisfy { $0.machine.isIdle && $0.machine.upload.token == nil }
  }

  mutating func insert(_ machine: TaskMachine) { boxes[machine.id] = Box(machine) }

  mutating func remove(_ id: TaskID) -> TaskMachine? { boxes.removeValue(forKey: id)?.machine }

  /// Changes a task in place. Returns `nil` if the task is not in memory.
  @discardableResult
  mutating func change<Result>(_ id: TaskID, _ body: (inout TaskMachine) -> Result) -> Result? {
    guard let index = boxes.index(forKey: id) else { return nil }
    if !isKnownUniquelyReferenced(&boxes.values[index]) {
      boxes.values[index] = Box(boxes.values[index].machine)
    }
    boxes.values[index].machine.revision += 1
    return body(&boxes.values[index].machine)
  }
}

package import TransferModel

/// The unfinished tasks of a session by their ids, as one value. Each has a place of its own on the heap, so that the table stays small
/// however much a task holds, and none is moved when it grows.
package struct TaskTable: Sendable {
  /// Unchecked: it is changed only where a table has it for itself.
  private final class Box: @unchecked Sendable {
    var machine: TaskMachine
    init(_ machine: TaskMachine) { self.machine = machine }
  }
  private var boxes: [TaskID: Box] = [:]
  private(set) var evicted: [TaskID: EvictedTask] = [:]

  package init() {}

  package var count: Int { boxes.count + evicted.count }
  /// In the order of their ids, which is that of their creation.
  package var ids: [TaskID] { (Array(boxes.keys) + evicted.keys).sorted() }

  /// Nil for an evicted task, too.
  package subscript(id: TaskID) -> TaskMachine? { boxes[id]?.machine }

  /// Looks at a task in its place; nil for an evicted task, too.
  func look<Result>(_ id: TaskID, _ body: (borrowing TaskMachine) -> Result) -> Result? {
    boxes[id].map { body($0.machine) }
  }

  package func contains(_ id: TaskID) -> Bool { boxes[id] != nil || isEvicted(id) }

  /// Whether the task has to be read from its row.
  package func isEvicted(_ id: TaskID) -> Bool { evicted[id] != nil }

  /// Whether a task has a begin date and satisfies the predicate. An evicted task with a begin date always counts.
  package func hasBeginDate(where predicate: (TransferTask) -> Bool) -> Bool {
    evicted.values.contains(where: \.hasBeginDate)
      || boxes.values.contains { $0.machine.task.earliestBeginDate != nil && predicate($0.machine.task) }
  }

  // MARK: Eviction

  /// Evicts a task whose row says all that is known of it.
  mutating func evict(_ eviction: Eviction) {
    guard let machine = boxes[eviction.task]?.machine, machine.revision == eviction.revision,
      let rest = EvictedTask(machine)
    else { return }
    evicted[eviction.task] = rest
    boxes[eviction.task] = nil
  }

  /// - Parameter task: as it was read from its row.
  /// - Returns: whether it was evicted.
  mutating func load(_ task: TransferTask) -> Bool {
    guard let rest = evicted.removeValue(forKey: task.id) else { return false }
    var machine = TaskMachine(task, at: .idle(goesOn: task.place.goesOn))
    // Only `announced` is kept in memory. The rest comes from the row, which a new owner may have written.
    if rest.beginning == .announced { machine.task.beginning.announce() }
    machine.revision = rest.revision
    insert(machine)
    return true
  }

  /// That its begin date has come was told.
  mutating func hadBegun(evicted id: TaskID) { evicted[id]?.beginning.announce() }

  /// Whether nobody carries any of them out, asks about one, or is sending the body of one.
  var areIdle: Bool {
    boxes.values.allSatisfy { $0.machine.isIdle && $0.machine.upload.token == nil }
  }

  mutating func insert(_ machine: TaskMachine) { boxes[machine.id] = Box(machine) }

  mutating func remove(_ id: TaskID) -> TaskMachine? { boxes.removeValue(forKey: id)?.machine }

  /// Changes one in its place; nil where there is none.
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

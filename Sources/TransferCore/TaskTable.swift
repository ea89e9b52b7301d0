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

  package init() {}

  package var count: Int { boxes.count }
  /// In the order of their ids, which is that of their creation.
  package var ids: [TaskID] { boxes.keys.sorted() }

  package subscript(id: TaskID) -> TaskMachine? { boxes[id]?.machine }

  func contains(where body: (TransferTask) -> Bool) -> Bool {
    boxes.values.contains { body($0.machine.task) }
  }

  /// Whether nobody carries any of them out, asks about one, or is sending the body of one.
  var areIdle: Bool {
    boxes.values.allSatisfy {
      if case .idle = $0.machine.place { $0.machine.upload.token == nil } else { false }
    }
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
    return body(&boxes.values[index].machine)
  }
}

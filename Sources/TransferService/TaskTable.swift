internal import TransferModel

/// The unfinished tasks by their ids. Each entry has a place of its own on the heap: the table stays small however much
/// an entry holds, and none is moved when it grows.
struct TaskTable {
  private final class Slot {
    var entry: TransferRegistry.TaskEntry?
    init(_ entry: TransferRegistry.TaskEntry) { self.entry = entry }
  }
  private var slots: [TaskID: Slot] = [:]

  var count: Int { slots.count }
  var values: some Sequence<TransferRegistry.TaskEntry> { slots.values.lazy.compactMap(\.entry) }

  subscript(id: TaskID) -> TransferRegistry.TaskEntry? {
    get { slots[id]?.entry }
    _modify {
      if let slot = slots[id] {
        yield &slot.entry
        if slot.entry == nil { slots[id] = nil }
      } else {
        var entry: TransferRegistry.TaskEntry?
        yield &entry
        if let entry { slots[id] = Slot(entry) }
      }
    }
  }

  mutating func removeValue(forKey id: TaskID) -> TransferRegistry.TaskEntry? {
    slots.removeValue(forKey: id)?.entry
  }
}

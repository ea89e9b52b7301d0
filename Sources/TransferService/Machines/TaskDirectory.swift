internal import Synchronization
internal import TransferModel

/// Which session an unfinished task is of. Whoever tells of a task names it alone.
final class TaskDirectory: Sendable {
  private final class Stripe: Sendable {
    let sessions = Mutex<[TaskID: SessionID]>([:])
  }
  private let stripes = (0..<64).map { _ in Stripe() }

  private func stripe(of task: TaskID) -> Stripe { stripes[Int(task.low % UInt64(stripes.count))] }

  /// nil where the task has ended, or there is none.
  subscript(task: TaskID) -> SessionID? {
    get { stripe(of: task).sessions.withLock { $0[task] } }
    set { stripe(of: task).sessions.withLock { $0[task] = newValue } }
  }

  var count: Int { stripes.reduce(0) { $0 + $1.sessions.withLock(\.count) } }

  /// What is about unfinished tasks, by their sessions, and in each in its order.
  func bySession<Item>(
    _ items: [Item], _ task: (Item) -> TaskID
  ) -> [(session: SessionID, items: [Item])] {
    let sessions = items.map { self[task($0)] }
    // It is one session's, mostly.
    if let first = sessions.first, let first, sessions.allSatisfy({ $0 == first }) { return [(first, items)] }
    var groups: [(session: SessionID, items: [Item])] = []
    var places: [SessionID: Int] = [:]
    for (item, session) in zip(items, sessions) {
      guard let session else { continue }
      if let place = places[session] {
        groups[place].items.append(item)
      } else {
        places[session] = groups.count
        groups.append((session, [item]))
      }
    }
    return groups
  }
}

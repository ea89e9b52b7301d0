internal import Synchronization
internal import TransferModel

/// The session of each unfinished task. The engine's facts name the task only.
final class TaskSessionIndex: Sendable {
  private final class Stripe: Sendable {
    let sessions = Mutex<[TaskID: SessionID]>([:])
  }
  private let stripes = (0..<64).map { _ in Stripe() }

  private func stripe(of task: TaskID) -> Stripe { stripes[Int(task.low % UInt64(stripes.count))] }

  /// - Returns: `nil` if the task has ended or does not exist.
  subscript(task: TaskID) -> SessionID? {
    get { stripe(of: task).sessions.withLock { $0[task] } }
    set { stripe(of: task).sessions.withLock { $0[task] = newValue } }
  }

  var count: Int { stripes.reduce(0) { $0 + $1.sessions.withLock(\.count) } }

  /// Groups items about unfinished tasks by session, and keeps their order within each session.
  func bySession<Item>(
    _ items: [Item], _ task: (Item) -> TaskID
  ) -> [(session: SessionID, items: [Item])] {
    let sessions = items.map { self[task($0)] }
    // Usually all items belong to one session.
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

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
}

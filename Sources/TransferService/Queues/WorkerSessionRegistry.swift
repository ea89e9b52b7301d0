internal import Ledger
internal import Synchronization
internal import TransferModel

/// The sessions whose tasks the worker runs. The registry also wakes the worker.
package final class WorkerSessionRegistry: Sendable {
  private let waker: any Waker
  private let sessions = Mutex<Set<SessionID>>([])
  private let needed = LateBoundCallback<Void>()

  /// - Parameter doorbell: wakes the worker.
  package init(waker: any Waker) { self.waker = waker }

  /// Calls `action` if no worker received the wake-up.
  package func onNoWorker(_ action: @escaping @Sendable () -> Void) { needed.connect(action) }

  /// Notes that the worker runs the session's tasks.
  func add(_ session: SessionID) { sessions.withLock { _ = $0.insert(session) } }
  func release(_ session: SessionID) { sessions.withLock { _ = $0.remove(session) } }
  func has(_ session: SessionID) -> Bool { sessions.withLock { $0.contains(session) } }
  package var isNeeded: Bool { sessions.withLock { !$0.isEmpty } }

  /// Wakes the worker, which then reads its commands.
  package func wakeWorker() {
    if !waker.wake() { needed.deliver() }
  }
}

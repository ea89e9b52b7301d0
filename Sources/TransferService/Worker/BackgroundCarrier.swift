internal import Ledger
internal import Synchronization
internal import TransferModel

/// Which sessions' tasks another process carries out, and its doorbell, which says that there are commands.
package final class BackgroundCarrier: Sendable {
  private let bell: any Bell
  private let sessions = Mutex<Set<SessionID>>([])
  private let needed = Relay<Void>()

  /// - Parameter doorbell: the other process's.
  package init(doorbell: any Bell) { bell = doorbell }

  /// Calls `action` when nobody answers the bell.
  package func onNobody(_ action: @escaping @Sendable () -> Void) { needed.connect(action) }

  /// From here on the session's tasks are carried out there.
  func take(_ session: SessionID) { sessions.withLock { _ = $0.insert(session) } }
  func release(_ session: SessionID) { sessions.withLock { _ = $0.remove(session) } }
  func has(_ session: SessionID) -> Bool { sessions.withLock { $0.contains(session) } }
  package var isNeeded: Bool { sessions.withLock { !$0.isEmpty } }

  /// There is something to look at.
  package func ring() {
    if !bell.ring() { needed.ring() }
  }
}

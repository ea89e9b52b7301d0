internal import EventLoop
internal import Synchronization
internal import TransferModel

/// Which background session has a name, and those who wait until that is decided.
final class SessionNames: Sendable {
  private let names = Mutex(BackgroundSessions())

  /// Takes a name, for which the caller owes a `release`; or gives the session that has it, once that is created.
  /// - Parameter session: the session of an id as it is now; nil where there is none.
  func claim(
    _ name: BackgroundName, _ session: @Sendable (SessionID) -> TransferSession?
  ) async -> TransferSession? {
    while true {
      let waiter = Waiter()
      let claim = names.withLock { names in
        names.claim(name) {
          (session($0)?.state ?? .invalid) == .invalid
        } elseCall: {
          waiter.resume()
        }
      }
      switch claim {
      case .granted: return nil
      case .known(let id): if let known = session(id) { return known }
      case .underWay: await waiter.wait()
      }
    }
  }

  /// The session that has the name, or had it last; nil where none is known here.
  func session(of name: BackgroundName) -> SessionID? { names.withLock { $0.session(of: name) } }

  /// - Parameter session: that has the name from here on; nil where none was created.
  func release(_ name: BackgroundName, to session: SessionID?) {
    for wake in names.withLock({ $0.release(name, to: session) }) { wake() }
  }

  /// A session that an earlier process left.
  func restore(_ session: TransferSession) { names.withLock { $0.restore(session) } }

  /// A session is deleted.
  func forget(_ session: TransferSession) { names.withLock { $0.forget(session) } }
}

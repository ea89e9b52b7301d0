internal import EventLoop
internal import Synchronization
internal import TransferModel

/// The names of background sessions, and the requests that wait for one of them.
final class SessionNameRegistry: Sendable {
  private let names = Mutex(SessionNameTable())

  /// Claims a name, or returns the session that has it. Waits while such a session is being created. If it returns `nil`, the
  /// caller has the name and must call `release`.
  /// - Parameter session: returns the session of an id, or `nil` if there is none.
  func claim(
    _ name: BackgroundSessionKey, _ session: @Sendable (SessionID) -> TransferSession?
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

  /// - Returns: the session that has the name, or had it last, or `nil` if this service knows none.
  func session(of name: BackgroundSessionKey) -> SessionID? { names.withLock { $0.session(of: name) } }

  /// - Parameter session: the session that has the name from now on, or `nil` if none was created.
  func release(_ name: BackgroundSessionKey, to session: SessionID?) {
    for wake in names.withLock({ $0.release(name, to: session) }) { wake() }
  }

  /// Adds a session of an earlier process.
  func restore(_ session: TransferSession) { names.withLock { $0.restore(session) } }

  /// Removes a deleted session.
  func forget(_ session: TransferSession) { names.withLock { $0.forget(session) } }
}

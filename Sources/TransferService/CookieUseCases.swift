package import HTTPCookies
internal import TransferEngine
package import TransferModel
internal import TransferStore

/// Which of a session's cookies are meant; nil: whatever it is.
package struct CookieFilter: Sendable {
  /// The cookie's own; that and all below it where there is a leading dot.
  package var domain: String?
  package var path: String?
  package var name: String?
  package init() {}
}

extension TransferService {
  /// A session's cookies, the oldest first (HTTPCookieStorage.cookies).
  package func cookies(of id: SessionID, _ filter: CookieFilter) throws(ServiceError) -> [Cookie] {
    _ = try session(id)
    return engine.cookies.cookies(
      of: id, domain: filter.domain, path: filter.path, name: filter.name, now: now)
  }

  /// Puts cookies into a session's jar as they are, in place of those of the same domain, path and name
  /// (HTTPCookieStorage.setCookie(_:)).
  package func setCookies(_ cookies: [Cookie], of id: SessionID) async throws(ServiceError) {
    guard try session(id).state != .invalid else { throw .sessionInvalid }
    try await keepCookies { engine.cookies.set(cookies, in: id) }
  }

  /// Takes cookies away (HTTPCookieStorage.deleteCookie(_:)).
  package func removeCookies(of id: SessionID, _ filter: CookieFilter) async throws(ServiceError) {
    _ = try session(id)
    try await keepCookies {
      engine.cookies.remove(of: id, domain: filter.domain, path: filter.path, name: filter.name)
    }
  }

  /// Changes cookies, and returns when that is on the disk. Nothing is changed while the disk takes nothing.
  private func keepCookies(_ change: () -> Void) async throws(ServiceError) {
    guard store.isHealthy else { throw .storeFull }
    change()
    await settleFacts()
  }

  /// Returns when what was recorded so far is committed.
  func settleFacts() async {
    await withCheckedContinuation { continuation in record(StoreChange()) { continuation.resume() } }
  }
}

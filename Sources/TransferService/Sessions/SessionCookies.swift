internal import BlobStore
internal import EngineAPI
internal import HTTPCookies
internal import Ledger
internal import TransferModel

/// Use cases of session cookies (HTTPCookieStorage).
struct SessionCookies: Sendable {
  let sessions: Sessions

  private var engine: any TransferExecuting { sessions.runtime.engine }
  private var now: Timestamp { sessions.identifiers.now() }

  /// Returns a session's cookies, the oldest first (HTTPCookieStorage.cookies).
  func cookies(of id: SessionID, _ filter: CookieFilter) async throws(ServiceError) -> [Cookie] {
    _ = try sessions.session(id)
    return try await sessions.withStorage(of: id) { engine.cookies.cookies(of: id, filter, now: now) }
  }

  /// Stores cookies. A cookie replaces another of the same domain, path and name (HTTPCookieStorage.setCookie(_:)).
  /// - Returns: the given cookies that the jar has now, as it has them.
  func set(_ cookies: [Cookie], of id: SessionID) async throws(ServiceError) -> [Cookie] {
    guard try sessions.session(id).state != .invalid else { throw .sessionInvalid }
    return try await sessions.withStorage(of: id) { () async throws(ServiceError) in
      try await sessions.changeStorage(of: id) { (change, isBackground) throws(ServiceError) in
        guard isBackground else {
          guard engine.cookies.set(cookies, in: id) else {
            throw .memoryFull(limit: engine.memoryFiles.capacity)
          }
          return
        }
        // Readers see the change at once. The worker decides which other cookies are evicted.
        let changes = cookies.map { cookie in
          cookie.isExpired(at: cookie.lastAccess) ? CookieJar.Change.removed(cookie.key) : .stored(cookie)
        }
        engine.cookies.apply(changes, to: id)
        change.cookies = changes.map { (id, $0) }
        change.command(.setCookies(cookies), of: id)
      }
      let keys = Set(cookies.map(\.key))
      return engine.cookies.cookies(of: id, now: now).filter { keys.contains($0.key) }
    }
  }

  /// Deletes the cookies that match the filter (HTTPCookieStorage.deleteCookie(_:)).
  func remove(of id: SessionID, _ filter: CookieFilter) async throws(ServiceError) {
    _ = try sessions.session(id)
    try await sessions.changeStorage(of: id) { change, isBackground in
      let removed = engine.cookies.remove(filter, of: id)
      guard isBackground else { return }
      change.cookies = removed.map { (id, .removed($0)) }
      change.command(.removeCookies(filter), of: id)
    }
  }
}

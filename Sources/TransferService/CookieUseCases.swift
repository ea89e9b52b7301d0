internal import HTTPCookies
internal import TransferEngine
internal import TransferModel
internal import TransferStore

extension TransferService {
  /// A session's cookies, the oldest first (HTTPCookieStorage.cookies).
  func cookies(of id: SessionID, _ filter: CookieFilter) throws(ServiceError) -> [Cookie] {
    _ = try session(id)
    return engine.cookies.cookies(of: id, filter, now: now)
  }

  /// Puts cookies into a session's jar as they are, in place of those of the same domain, path and name
  /// (HTTPCookieStorage.setCookie(_:)).
  /// - Returns: those of them that the jar has now, as it has them.
  func setCookies(_ cookies: [Cookie], of id: SessionID) async throws(ServiceError) -> [Cookie] {
    guard try session(id).state != .invalid else { throw .sessionInvalid }
    try await keepCookies { change in
      guard let background, background.has(id) else { return engine.cookies.set(cookies, in: id) }
      // Shown at once; which of them stay, and which others go, is told by who keeps them.
      engine.cookies.apply(
        cookies.map { $0.isExpired(at: $0.lastAccess) ? .removed($0.key) : .stored($0) }, to: id)
      background.setCookies(cookies, of: id, into: &change)
    }
    let keys = Set(cookies.map(\.key))
    return engine.cookies.cookies(of: id, now: now).filter { keys.contains($0.key) }
  }

  /// Takes cookies away (HTTPCookieStorage.deleteCookie(_:)).
  func removeCookies(of id: SessionID, _ filter: CookieFilter) async throws(ServiceError) {
    _ = try session(id)
    try await keepCookies { change in
      engine.cookies.remove(filter, of: id)
      if let background, background.has(id) { background.removeCookies(filter, of: id, into: &change) }
    }
  }

  /// Changes cookies, and returns when that is on the disk. Nothing is changed while the disk takes nothing.
  private func keepCookies(_ body: (inout StoreChange) -> Void) async throws(ServiceError) {
    guard store.isHealthy else { throw .storeFull }
    var change = StoreChange()
    body(&change)
    recordAny(change)
    await settleFacts()
  }

  /// Returns when what was recorded so far is committed.
  func settleFacts() async {
    await withCheckedContinuation { continuation in record(StoreChange()) { continuation.resume() } }
  }
}

internal import EngineAPI
internal import HTTPCache
internal import TransferModel

/// Use cases of session caches (URLCache).
struct SessionCaches: Sendable {
  let sessions: Sessions

  /// Returns the usage of a session's cache and its entries, the most recently used first. Returns `nil` if the session has no
  /// cache.
  func cache(
    of id: SessionID, entries limit: Int
  ) async throws(ServiceError) -> (usage: CacheUsage, entries: [CacheUsage.Entry])? {
    guard let cache = try await openCache(of: id) else { return nil }
    return (cache.usage, cache.entries(limit: limit))
  }

  /// URLCache.removeAllCachedResponses()
  func empty(of id: SessionID) async throws(ServiceError) {
    guard let cache = try await openCache(of: id) else { return }
    await withCheckedContinuation { continuation in cache.removeAll { continuation.resume() } }
  }

  private func openCache(of id: SessionID) async throws(ServiceError) -> ResponseCache? {
    let session = try sessions.session(id)
    guard session.state != .invalid, let cache = sessions.runtime.engine.cache(of: session) else {
      return nil
    }
    await withCheckedContinuation { continuation in cache.whenReady { continuation.resume() } }
    return cache
  }
}

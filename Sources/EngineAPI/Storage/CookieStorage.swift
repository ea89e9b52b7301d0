package import BlobStore
package import HTTPCookies
internal import Synchronization
package import TransferModel

/// The cookies of sessions, with a jar for each (HTTPCookieStorage). They are in memory, where `SessionStorageLoader` loads and unloads
/// them.
package final class CookieStorage: Sendable {
  private struct State {
    var jars: [SessionID: CookieJar] = [:]
    /// The memory quotas of ephemeral sessions.
    var counts: [SessionID: MemoryFiles] = [:]
    var hear: (@Sendable (SessionID, [CookieJar.Change]) -> Void)?
  }
  private let state = Mutex(State())

  package init() {}

  /// Calls `hear` with each change, in their order. It must not block.
  package func onChange(_ hear: @escaping @Sendable (SessionID, [CookieJar.Change]) -> Void) {
    state.withLock { $0.hear = hear }
  }

  /// Counts the session's cookies in a memory quota. Cookies that exceed it are refused from now on.
  package func count(_ session: SessionID, in files: MemoryFiles) {
    state.withLock { $0.counts[session] = files }
  }

  /// Changes a jar and reports the changes in order.
  /// - Parameter size: The maximum number of bytes by which the jar grows.
  /// - Returns: `false` if the quota has no room for those bytes. The jar is then unchanged.
  @discardableResult
  private func change(
    _ session: SessionID, growingBy size: Int = 0, _ body: (inout CookieJar) -> [CookieJar.Change]
  ) -> Bool {
    state.withLock { state in
      let files = state.counts[session]
      if let files, size > 0 {
        let most = (state.jars[session]?.size ?? 0) + size
        guard files.count(Int64(most), as: Self.name, of: session, mustFit: true) else { return false }
      }
      let changes = body(&state.jars[session, default: CookieJar()])
      if let files {
        files.count(Int64(state.jars[session]?.size ?? 0), as: Self.name, of: session, mustFit: false)
      }
      if !changes.isEmpty { state.hear?(session, changes) }
      return true
    }
  }

  /// The name under which cookies count in a quota.
  private static let name = "cookies"

  /// Returns the `Cookie` field of a request; `nil` if no cookie applies (RFC 6265bis §5.8.3).
  package func header(
    for context: @autoclosure () -> CookieContext, in session: SessionID, now: @autoclosure () -> Timestamp
  ) -> String? {
    state.withLock { state in
      // Most sessions have no cookies, so this path must be cheap.
      guard state.jars[session].map({ $0.count > 0 }) ?? false else { return nil }
      return state.jars[session]?.header(for: context(), now: now())
    }
  }

  /// Stores the cookies that a response sets, as far as permitted (RFC 6265bis §5.7).
  package func store(
    _ fields: [String], from context: CookieContext, in session: SessionID, now: Timestamp
  ) {
    let size = fields.reduce(0) { $0 + Cookie.size(ofField: $1.utf8.count, host: context.host.utf8.count) }
    change(session, growingBy: size) { $0.store(fields, from: context, now: now) }
  }

  /// Returns a session's cookies that have not expired.
  package func cookies(
    of session: SessionID, _ filter: CookieFilter = CookieFilter(), now: Timestamp
  ) -> [Cookie] {
    state.withLock { $0.jars[session]?.list(filter) ?? [] }
      .filter { !$0.isExpired(at: now) }
  }

  /// Stores cookies as they are (HTTPCookieStorage.setCookie(_:)).
  /// - Parameter tellsAll: Whether `onChange` also receives cookies that the jar already has.
  /// - Returns: `false` if the quota has no room for the cookies. Nothing is then changed.
  @discardableResult
  package func set(_ cookies: [Cookie], in session: SessionID, tellsAll: Bool = false) -> Bool {
    let size = cookies.reduce(0) { $0 + $1.size }
    return change(session, growingBy: size) { jar in
      let changes = jar.set(cookies)
      guard tellsAll else { return changes }
      let told = Set(changes.map(\.key))
      let kept = Dictionary(jar.cookies.map { ($0.key, $0) }, uniquingKeysWith: { $1 })
      let others = Set(cookies.map(\.key)).subtracting(told)
      return changes + others.map { key in kept[key].map { .stored($0) } ?? .removed(key) }
    }
  }

  /// Deletes cookies (HTTPCookieStorage.deleteCookie(_:)).
  /// - Returns: The deleted cookies.
  @discardableResult
  package func remove(_ filter: CookieFilter, of session: SessionID) -> [CookieKey] {
    var removed: [CookieKey] = []
    change(session) { jar in
      removed = jar.remove(filter).map(\.key)
      return removed.map { .removed($0) }
    }
    return removed
  }

  /// Restores the cookies of a session from the ledger. Cookies that are in memory are newer. Expired cookies are removed from both.
  package func restore(_ cookies: [Cookie], of session: SessionID, now: Timestamp) {
    guard !cookies.isEmpty else { return }
    change(session) { jar in
      let newer = jar.cookies
      jar = CookieJar(cookies + newer)
      return jar.removeExpired(now: now).map { .removed($0.key) }
    }
  }

  /// Returns the approximate bytes in memory of cookies that are in the ledger as well.
  package func storedSize(of session: SessionID) -> Int {
    state.withLock { $0.counts[session] == nil ? $0.jars[session]?.size ?? 0 : 0 }
  }

  package func unload(_ session: SessionID) { state.withLock { $0.jars[session] = nil } }

  /// Applies changes that another process made and stored.
  package func apply(_ changes: [CookieJar.Change], to session: SessionID) {
    state.withLock { state in
      for change in changes { state.jars[session, default: CookieJar()].apply(change) }
    }
  }

  package func removeAll(_ session: SessionID) {
    state.withLock { state in
      state.jars[session] = nil
      state.counts.removeValue(forKey: session)?.count(0, as: Self.name, of: session, mustFit: false)
    }
  }
}

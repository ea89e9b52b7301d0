package import BlobStore
package import HTTPCookies
internal import Synchronization
package import TransferModel

/// The cookies of sessions, each with a jar of its own (HTTPCookieStorage). They are in memory: `SessionStorages` loads and unloads them.
package final class CookieStorage: Sendable {
  private struct State {
    var jars: [SessionID: CookieJar] = [:]
    /// The budgets of ephemeral sessions.
    var counts: [SessionID: MemoryFiles] = [:]
    var hear: (@Sendable (SessionID, [CookieJar.Change]) -> Void)?
  }
  private let state = Mutex(State())

  package init() {}

  /// Calls `hear` with each change, in their order; it must not block.
  package func onChange(_ hear: @escaping @Sendable (SessionID, [CookieJar.Change]) -> Void) {
    state.withLock { $0.hear = hear }
  }

  /// Makes the session's cookies count towards `files`. Cookies that do not fit are refused from then on.
  package func count(_ session: SessionID, in files: MemoryFiles) {
    state.withLock { $0.counts[session] = files }
  }

  /// Changes a jar, and tells of it before anybody else can.
  /// - Parameter size: the most bytes by which it grows.
  /// - Returns: false if there is no room for those bytes. Nothing is changed then.
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

  /// Under which they count.
  private static let name = "cookies"

  /// The `Cookie` field of a request; nil where the session has none for it (RFC 6265bis §5.8.3).
  package func header(
    for context: @autoclosure () -> CookieContext, in session: SessionID, now: @autoclosure () -> Timestamp
  ) -> String? {
    state.withLock { state in
      // Most sessions have none: nothing is made for them.
      guard state.jars[session].map({ $0.count > 0 }) ?? false else { return nil }
      return state.jars[session]?.header(for: context(), now: now())
    }
  }

  /// Takes what an answer sets, as far as it may (RFC 6265bis §5.7).
  package func store(
    _ fields: [String], from context: CookieContext, in session: SessionID, now: Timestamp
  ) {
    let size = fields.reduce(0) { $0 + Cookie.size(ofField: $1.utf8.count, host: context.host.utf8.count) }
    change(session, growingBy: size) { $0.store(fields, from: context, now: now) }
  }

  /// A session's cookies that have not expired.
  package func cookies(
    of session: SessionID, _ filter: CookieFilter = CookieFilter(), now: Timestamp
  ) -> [Cookie] {
    state.withLock { $0.jars[session]?.list(filter) ?? [] }
      .filter { !$0.isExpired(at: now) }
  }

  /// Puts cookies there as they are (HTTPCookieStorage.setCookie(_:)).
  /// - Parameter tellsAll: whether `onChange` also hears of cookies that the jar has already.
  /// - Returns: false if there is no room for the cookies. Nothing is changed then.
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

  /// Takes cookies away (HTTPCookieStorage.deleteCookie(_:)).
  /// - Returns: the cookies that were removed.
  @discardableResult
  package func remove(_ filter: CookieFilter, of session: SessionID) -> [CookieKey] {
    var removed: [CookieKey] = []
    change(session) { jar in
      removed = jar.remove(filter).map(\.key)
      return removed.map { .removed($0) }
    }
    return removed
  }

  /// Puts back the cookies that the ledger has of a session. Those that are in memory are newer. Expired cookies are removed from both.
  package func restore(_ cookies: [Cookie], of session: SessionID, now: Timestamp) {
    guard !cookies.isEmpty else { return }
    change(session) { jar in
      let newer = jar.cookies
      jar = CookieJar(cookies + newer)
      return jar.removeExpired(now: now).map { .removed($0.key) }
    }
  }

  /// Bytes in memory, approximately, of cookies that are in the ledger as well.
  package func storedSize(of session: SessionID) -> Int {
    state.withLock { $0.counts[session] == nil ? $0.jars[session]?.size ?? 0 : 0 }
  }

  package func unload(_ session: SessionID) { state.withLock { $0.jars[session] = nil } }

  /// Takes over what was changed elsewhere, and is kept there.
  package func apply(_ changes: [CookieJar.Change], to session: SessionID) {
    state.withLock { state in
      for change in changes { state.jars[session, default: CookieJar()].apply(change) }
    }
  }

  package func forget(_ session: SessionID) {
    state.withLock { state in
      state.jars[session] = nil
      state.counts.removeValue(forKey: session)?.count(0, as: Self.name, of: session, mustFit: false)
    }
  }
}

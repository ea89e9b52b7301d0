internal import DequeModule
package import HTTPCookies
internal import Synchronization
package import TransferModel

/// The cookies and credentials of all sessions. Those of idle sessions are only in the ledger. They are loaded when a task or a client
/// needs them, and unloaded when the session has been idle for a while.
package final class SessionStorageLoader: Sendable {
  /// The rows of a session in the ledger.
  package struct Contents: Sendable {
    package var cookies: [Cookie]
    package var credentials: [CredentialEntry]
    package var readAt: Timestamp

    package init(cookies: [Cookie], credentials: [CredentialEntry], readAt: Timestamp) {
      (self.cookies, self.credentials, self.readAt) = (cookies, credentials, readAt)
    }
  }
  /// The functions with which the loader reads and flushes the ledger.
  package struct Source: Sendable {
    /// Reads a session's rows, and calls `loaded` with them, or with `nil` if they cannot be read now.
    package var load: @Sendable (SessionID, _ loaded: @escaping @Sendable (Contents?) -> Void) -> Void
    /// Calls `settled` when all recorded changes of the session are committed, or with `false` if they never will be.
    package var settle: @Sendable (SessionID, _ settled: @escaping @Sendable (Bool) -> Void) -> Void

    package init(
      load: @escaping @Sendable (SessionID, @escaping @Sendable (Contents?) -> Void) -> Void,
      settle: @escaping @Sendable (SessionID, @escaping @Sendable (Bool) -> Void) -> Void
    ) {
      (self.load, self.settle) = (load, settle)
    }
  }

  /// An action that waits for a session's storage.
  package typealias Action = @Sendable (_ isLoaded: Bool) -> Void

  /// The actions that wait while a session is loaded or unloaded.
  package final class Queue: @unchecked Sendable {
    // Unchecked: used under the storages' lock only.
    fileprivate var actions: Deque<Action> = []
    /// Whether the session is unloaded when its changes are committed. Until then, an action for the session stops that.
    fileprivate var isSettling = false
  }
  private enum LoadState {
    /// In the ledger only.
    case stored
    case busy(Queue)
  }
  private struct State {
    /// The places of sessions that are not in memory, or are being loaded or unloaded.
    var places: [SessionID: LoadState] = [:]
    /// The number of client requests that use a session's storage.
    var uses: [SessionID: Int] = [:]
    var source: Source?
    var onIdle: (@Sendable (SessionID) -> Void)?

    /// Returns whether actions for the session still go into this queue.
    func isCurrent(_ queue: Queue, of session: SessionID) -> Bool {
      if case .busy(let current) = places[session] { current === queue } else { false }
    }

    /// Returns the place of a session that is needed. A session that is settling stays in memory.
    mutating func placeForUse(of session: SessionID) -> (place: LoadState?, wasSettling: Bool) {
      guard case .busy(let queue) = places[session], queue.isSettling else { return (places[session], false) }
      places[session] = nil
      return (nil, true)
    }
  }

  package let cookies = CookieStorage()
  package let credentials = CredentialStorage()
  private let state = Mutex(State())

  package init() {}

  package func connect(_ source: Source) { state.withLock { $0.source = source } }

  /// Calls `onIdle` when a session was loaded or changed, and when the last request that used its storage has ended.
  package func onIdle(_ onIdle: @escaping @Sendable (SessionID) -> Void) {
    state.withLock { $0.onIdle = onIdle }
  }

  /// Records that the ledger has cookies or credentials of these sessions, and none of them is in memory.
  package func noteStored(_ sessions: some Sequence<SessionID>) {
    state.withLock { state in
      for session in sessions where state.places[session] == nil { state.places[session] = .stored }
    }
  }

  // MARK: Use

  package func isLoaded(_ session: SessionID) -> Bool { state.withLock { $0.places[session] == nil } }

  /// Calls `body` at once, under a lock, if the session's storage is in memory.
  /// - Parameter needsStorage: If `false`, the storage may also be in the ledger, and stays there.
  /// - Returns: Whether `body` was called. If not, the caller passes an action to `whenLoaded`.
  package func ifLoaded(_ session: SessionID, needsStorage: Bool = true, _ body: () -> Void) -> Bool {
    let (isLoaded, onIdle) = state.withLock { state -> (Bool, (@Sendable (SessionID) -> Void)?) in
      let (place, wasSettling) = state.placeForUse(of: session)
      switch place {
      case .stored where needsStorage: return (false, nil)
      case .busy: return (false, nil)
      case .stored, nil: body()
      }
      return (true, wasSettling ? state.onIdle : nil)
    }
    onIdle?(session)
    return isLoaded
  }

  /// Calls `action` when the session's storage is in memory, or with `false` if it cannot be read. Actions of a session are called in
  /// their order.
  /// If the storage is in memory and no other action waits, `action` is called before this returns.
  package func whenLoaded(_ session: SessionID, _ action: @escaping Action) {
    let (queue, wasStored): (Queue?, Bool) = state.withLock { state in
      let place = state.placeForUse(of: session).place
      if case .busy(let queue) = place {
        queue.actions.append(action)
        return (nil, false)
      }
      let queue = Queue()
      queue.actions.append(action)
      state.places[session] = .busy(queue)
      return (queue, place != nil)
    }
    guard let queue else { return }
    if wasStored { load(session, queue) } else { call(queue, of: session, isLoaded: true) }
  }

  /// Makes a change that the ledger already has. A session that is only in the ledger is left there.
  package func update(_ session: SessionID, _ change: @escaping @Sendable () -> Void) {
    let isStored = state.withLock { state in
      if case .stored = state.places[session] { true } else { false }
    }
    if !isStored { whenLoaded(session) { if $0 { change() } } }
  }

  /// Loads the session's storage, which then stays in memory until `endUse`.
  /// - Returns: `false` if it cannot be read now. `endUse` must not be called then.
  package func beginUse(of session: SessionID) async -> Bool {
    await withCheckedContinuation { continuation in
      beginUse(of: session) { continuation.resume(returning: $0) }
    }
  }

  package func beginUse(of session: SessionID, _ begin: @escaping Action) {
    whenLoaded(session) { [self] isLoaded in
      if isLoaded { state.withLock { $0.uses[session, default: 0] += 1 } }
      begin(isLoaded)
    }
  }

  package func endUse(of session: SessionID) {
    let onIdle: (@Sendable (SessionID) -> Void)? = state.withLock { state in
      guard let count = state.uses[session] else { return nil }
      state.uses[session] = count > 1 ? count - 1 : nil
      return count > 1 ? nil : state.onIdle
    }
    onIdle?(session)
  }

  /// Calls the waiting actions in order. After that, actions are called at once, or the session is only in the ledger.
  /// - Parameter notesIdle: `false` if a transfer uses the session, and will report its end.
  private func call(_ queue: Queue, of session: SessionID, isLoaded: Bool, notesIdle: Bool = true) {
    while true {
      let action: Action? = state.withLock { state in
        guard state.isCurrent(queue, of: session) else { return nil }
        if let first = queue.actions.popFirst() { return first }
        state.places[session] = isLoaded ? nil : .stored
        return nil
      }
      guard let action else { break }
      action(isLoaded)
    }
    if isLoaded, notesIdle { state.withLock { $0.onIdle }?(session) }
  }

  private func load(_ session: SessionID, _ queue: Queue) {
    guard let source = state.withLock({ $0.source }) else { return call(queue, of: session, isLoaded: false) }
    source.load(session) { [self] contents in
      guard state.withLock({ $0.isCurrent(queue, of: session) }) else { return }
      guard let contents else { return call(queue, of: session, isLoaded: false) }
      cookies.restore(contents.cookies, of: session, now: contents.readAt)
      credentials.restore(contents.credentials, of: session)
      guard state.withLock({ $0.isCurrent(queue, of: session) }) else { return unload(session) }
      call(queue, of: session, isLoaded: true)
    }
  }

  // MARK: Unloading

  /// Returns the approximate bytes in memory that unloading a session frees; 0 for an ephemeral session.
  package func unloadableSize(of session: SessionID) -> Int {
    cookies.storedSize(of: session) + credentials.storedSize(of: session)
  }

  /// Begins to unload a session. Later actions for the session wait until the caller has called `endUnloading`.
  /// - Returns: `nil` if a client uses the session, or there is nothing to unload.
  package func beginUnloading(_ session: SessionID) -> Queue? {
    guard unloadableSize(of: session) > 0 else { return nil }
    return state.withLock { state in
      guard state.places[session] == nil, state.uses[session] == nil else { return nil }
      let queue = Queue()
      state.places[session] = .busy(queue)
      return queue
    }
  }

  /// Unloads a session when its changes are committed, unless it is needed before.
  /// - Parameter isUsed: Whether a transfer uses the session, which then stays in memory.
  package func endUnloading(_ session: SessionID, _ queue: Queue, isUsed: Bool) {
    let source: Source? = state.withLock { state in
      guard !isUsed, queue.actions.isEmpty else { return nil }
      queue.isSettling = true
      return state.source
    }
    guard let source else { return call(queue, of: session, isLoaded: true, notesIdle: !isUsed) }
    source.settle(session) { [self] isSettled in
      let isCurrent = state.withLock { state in
        queue.isSettling = false
        return state.isCurrent(queue, of: session)
      }
      guard isCurrent else { return }
      guard isSettled else {
        // The session belongs to another process.
        return forget(session)
      }
      unload(session)
      let isWanted = state.withLock { state in
        guard state.isCurrent(queue, of: session), queue.actions.isEmpty else { return true }
        state.places[session] = .stored
        return false
      }
      if isWanted { load(session, queue) }
    }
  }

  private func unload(_ session: SessionID) {
    cookies.unload(session)
    credentials.unload(session)
  }

  /// Drops all data of a session that has ended or belongs to another process. Waiting actions are called with `false`.
  package func forget(_ session: SessionID) {
    let actions: Deque<Action> = state.withLock { state in
      state.uses[session] = nil
      guard case .busy(let queue) = state.places.removeValue(forKey: session) else { return [] }
      return queue.actions
    }
    cookies.removeAll(session)
    credentials.forget(session)
    for action in actions { action(false) }
  }
}

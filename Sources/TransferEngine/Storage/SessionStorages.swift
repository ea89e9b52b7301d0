internal import DequeModule
package import HTTPCookies
internal import Synchronization
package import TransferModel

/// The cookies and credentials of all sessions. Those of idle sessions are in the ledger only: they are loaded when a task or a client
/// needs them, and unloaded when the session has been idle for a while.
package final class SessionStorages: Sendable {
  /// What the ledger has of a session.
  package struct Contents: Sendable {
    package var cookies: [Cookie]
    package var credentials: [CredentialEntry]
    package var readAt: Timestamp

    package init(cookies: [Cookie], credentials: [CredentialEntry], readAt: Timestamp) {
      (self.cookies, self.credentials, self.readAt) = (cookies, credentials, readAt)
    }
  }
  /// The ledger.
  package struct Source: Sendable {
    /// Reads a session's rows, and calls `loaded` with them, or with nil if they cannot be read now.
    package var load: @Sendable (SessionID, _ loaded: @escaping @Sendable (Contents?) -> Void) -> Void
    /// Calls `settled` when all that was recorded of the session is committed; with false if it never will be.
    package var settle: @Sendable (SessionID, _ settled: @escaping @Sendable (Bool) -> Void) -> Void

    package init(
      load: @escaping @Sendable (SessionID, @escaping @Sendable (Contents?) -> Void) -> Void,
      settle: @escaping @Sendable (SessionID, @escaping @Sendable (Bool) -> Void) -> Void
    ) {
      (self.load, self.settle) = (load, settle)
    }
  }

  fileprivate enum Waiter {
    case action(@Sendable () -> Void)
    /// A client's request, which fails if the rows cannot be read.
    case use(@Sendable (_ isLoaded: Bool) -> Void)
  }
  /// Those who wait while a session is loaded or unloaded. Only used under the lock.
  final class Queue: @unchecked Sendable {
    fileprivate var waiters: Deque<Waiter> = []
  }
  /// What it asks of the engine.
  struct Hooks {
    /// A session was loaded, or the last request that used its storage has ended.
    var onIdle: @Sendable (SessionID) -> Void = { _ in }
    /// Calls its argument after a while: then a load that failed is tried again.
    var delay: @Sendable (@escaping @Sendable () -> Void) -> Void = { _ in }
  }
  private enum Place {
    /// In the ledger only.
    case stored
    case busy(Queue)
  }
  private struct State {
    /// Sessions that are not simply in memory.
    var places: [SessionID: Place] = [:]
    /// How many requests of clients use a session's storage.
    var uses: [SessionID: Int] = [:]
    var source: Source?
    var hooks = Hooks()

    /// Whether that is what the session's place is now.
    func isCurrent(_ queue: Queue, of session: SessionID) -> Bool {
      if case .busy(let current) = places[session] { current === queue } else { false }
    }
  }

  package let cookies = CookieStorage()
  package let credentials = CredentialStorage()
  private let state = Mutex(State())

  package init() {}

  package func connect(_ source: Source) { state.withLock { $0.source = source } }

  func attach(_ hooks: Hooks) { state.withLock { $0.hooks = hooks } }

  /// The ledger has cookies or credentials of these sessions, and none of them is in memory.
  package func noteStored(_ sessions: some Sequence<SessionID>) {
    state.withLock { state in for session in sessions { state.places[session] = .stored } }
  }

  // MARK: Using

  package func isLoaded(_ session: SessionID) -> Bool { state.withLock { $0.places[session] == nil } }

  /// Calls `body` at once, under a lock, if the session's storage is in memory.
  /// - Parameter needsStorage: if false, the storage may also be in the ledger, and stays there.
  /// - Returns: whether it was called. If not, the caller passes an action to `whenLoaded`.
  func ifLoaded(_ session: SessionID, needsStorage: Bool = true, _ body: () -> Void) -> Bool {
    state.withLock { state in
      switch state.places[session] {
      case .stored where needsStorage: return false
      case .busy: return false
      case .stored, nil: body()
      }
      return true
    }
  }

  /// Calls `action` when the session's storage is in memory: before it returns, if it is. Actions of a session are called in their order.
  package func whenLoaded(_ session: SessionID, _ action: @escaping @Sendable () -> Void) {
    wait(for: session, .action(action))
  }

  /// Makes a change that is in the ledger already. A session that is in the ledger only does not need it.
  package func update(_ session: SessionID, _ change: @escaping @Sendable () -> Void) {
    let isStored = state.withLock { state in
      if case .stored = state.places[session] { true } else { false }
    }
    if !isStored { wait(for: session, .action(change)) }
  }

  /// Loads the session's storage, which then stays in memory until `endUse`.
  /// - Returns: false if it cannot be read now. Then there is nothing to end.
  package func beginUse(of session: SessionID) async -> Bool {
    await withCheckedContinuation { continuation in
      beginUse(of: session) { continuation.resume(returning: $0) }
    }
  }

  func beginUse(of session: SessionID, _ begin: @escaping @Sendable (_ isLoaded: Bool) -> Void) {
    wait(
      for: session,
      .use { [self] isLoaded in
        if isLoaded { state.withLock { $0.uses[session, default: 0] += 1 } }
        begin(isLoaded)
      })
  }

  package func endUse(of session: SessionID) {
    let onIdle: (@Sendable (SessionID) -> Void)? = state.withLock { state in
      guard let count = state.uses[session] else { return nil }
      state.uses[session] = count > 1 ? count - 1 : nil
      return count > 1 ? nil : state.hooks.onIdle
    }
    onIdle?(session)
  }

  private func wait(for session: SessionID, _ waiter: Waiter) {
    let (queue, wasStored): (Queue?, Bool) = state.withLock { state in
      let place = state.places[session]
      if case .busy(let queue) = place {
        queue.waiters.append(waiter)
        return (nil, false)
      }
      let queue = Queue()
      queue.waiters.append(waiter)
      state.places[session] = .busy(queue)
      return (queue, place != nil)
    }
    guard let queue else { return }
    if wasStored { load(session, queue) } else { callWaiters(queue, of: session) }
  }

  /// Calls those who wait for a session that is in memory, one after the other, and then lets the next be called at once.
  /// - Parameter notesIdle: if false, the session is found idle by what uses it now.
  private func callWaiters(_ queue: Queue, of session: SessionID, notesIdle: Bool = true) {
    while true {
      let waiter: Waiter? = state.withLock { state in
        guard state.isCurrent(queue, of: session) else { return nil }
        if let first = queue.waiters.popFirst() { return first }
        state.places[session] = nil
        return nil
      }
      guard let waiter else { break }
      waiter.call(isLoaded: true)
    }
    if notesIdle { state.withLock { $0.hooks }.onIdle(session) }
  }

  // MARK: Loading

  private func load(_ session: SessionID, _ queue: Queue) {
    guard let source = state.withLock({ $0.source }) else { return failLoad(of: session, queue) }
    source.load(session) { [self] contents in
      guard state.withLock({ $0.isCurrent(queue, of: session) }) else { return }
      guard let contents else { return failLoad(of: session, queue) }
      cookies.restore(contents.cookies, of: session, now: contents.readAt)
      credentials.restore(contents.credentials, of: session)
      if state.withLock({ $0.isCurrent(queue, of: session) }) {
        callWaiters(queue, of: session)
      } else {
        unload(session)
      }
    }
  }

  /// Clients get an error; tasks wait for another try.
  private func failLoad(of session: SessionID, _ queue: Queue) {
    let failed: [@Sendable (Bool) -> Void] = state.withLock { state in
      guard state.isCurrent(queue, of: session) else { return [] }
      let uses = queue.waiters.compactMap { if case .use(let begin) = $0 { begin } else { nil } }
      queue.waiters.removeAll { if case .use = $0 { true } else { false } }
      if queue.waiters.isEmpty { state.places[session] = .stored }
      return uses
    }
    for begin in failed { begin(false) }
    state.withLock { $0.hooks }.delay { [self] in
      if state.withLock({ $0.isCurrent(queue, of: session) }) { load(session, queue) }
    }
  }

  // MARK: Unloading

  /// Bytes in memory that unloading a session frees, approximately; 0 for an ephemeral session.
  func unloadableSize(of session: SessionID) -> Int {
    cookies.storedSize(of: session) + credentials.storedSize(of: session)
  }

  /// Begins to unload a session. From here on its tasks and clients wait until the caller has called `endUnloading`.
  /// - Returns: nil if a client uses it, or there is nothing to unload.
  func beginUnloading(_ session: SessionID) -> Queue? {
    guard unloadableSize(of: session) > 0 else { return nil }
    return state.withLock { state in
      guard state.places[session] == nil, state.uses[session] == nil else { return nil }
      let queue = Queue()
      state.places[session] = .busy(queue)
      return queue
    }
  }

  /// Unloads a session once its changes are committed.
  /// - Parameter isUsed: a transfer uses it: it stays in memory.
  func endUnloading(_ session: SessionID, _ queue: Queue, isUsed: Bool) {
    guard !isUsed, let source = state.withLock({ $0.source }) else {
      return callWaiters(queue, of: session, notesIdle: false)
    }
    source.settle(session) { [self] isSettled in
      guard isSettled, state.withLock({ $0.isCurrent(queue, of: session) }) else {
        return callWaiters(queue, of: session, notesIdle: false)
      }
      unload(session)
      let isWanted = state.withLock { state in
        guard state.isCurrent(queue, of: session), queue.waiters.isEmpty else { return true }
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

  /// The session is over, or belongs to another process: nothing of it is left. Actions that wait for it are called; clients get an error.
  package func forget(_ session: SessionID) {
    let waiters: Deque<Waiter> = state.withLock { state in
      state.uses[session] = nil
      guard case .busy(let queue) = state.places.removeValue(forKey: session) else { return [] }
      return queue.waiters
    }
    cookies.forget(session)
    credentials.forget(session)
    for waiter in waiters { waiter.call(isLoaded: false) }
  }
}

extension SessionStorages.Waiter {
  fileprivate func call(isLoaded: Bool) {
    switch self {
    case .action(let action): action()
    case .use(let begin): begin(isLoaded)
    }
  }
}

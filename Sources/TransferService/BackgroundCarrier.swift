package import EventLoop
internal import HTTPCookies
internal import Synchronization
package import TransferEngine
package import TransferModel
internal import TransferStore

/// Hands the tasks of background sessions to the process that carries them out: commands are rows, committed in the order of the
/// calls, and the doorbell says that there are some.
package final class BackgroundCarrier: Sendable {
  private let pull: DoorbellPull
  private let sessions = Mutex<Set<SessionID>>([])
  private let store = Mutex<(any TransferStore)?>(nil)
  private let gathered = Mutex<[StoredCommand]?>(nil)
  private let needed = Mutex<(@Sendable () -> Void)?>(nil)

  /// - Parameter doorbell: the other process's.
  package init(doorbell: DoorbellPull) { pull = doorbell }

  func connect(_ store: any TransferStore) { self.store.withLock { $0 = store } }

  /// Calls `action` when nobody answers the bell.
  package func onNobody(_ action: @escaping @Sendable () -> Void) { needed.withLock { $0 = action } }

  /// From here on the session's tasks are carried out there.
  func take(_ session: SessionID) { sessions.withLock { _ = $0.insert(session) } }
  func release(_ session: SessionID) { sessions.withLock { _ = $0.remove(session) } }
  func has(_ session: SessionID) -> Bool { sessions.withLock { $0.contains(session) } }
  package var isNeeded: Bool { sessions.withLock { !$0.isEmpty } }

  /// There is something to look at.
  package func ring() {
    if !pull.ring() { needed.withLock { $0 }?() }
  }

  func send(_ commands: [WorkerCommand], of session: SessionID) {
    let rows = commands.map { $0.stored(for: session) }
    let isGathered = gathered.withLock { gathered in
      gathered?.append(contentsOf: rows)
      return gathered != nil
    }
    guard !isGathered else { return }
    var change = StoreChange()
    change.commands = rows
    store.withLock { $0 }?.record(change) { [self] in ring() }
  }

  /// What `body` sends, to be written with what it is about. Called within the registry's lock, and not from within `body`.
  func gather(_ body: () -> Void) -> [StoredCommand] {
    gathered.withLock { $0 = [] }
    body()
    return gathered.withLock { gathered in
      defer { gathered = nil }
      return gathered ?? []
    }
  }
}

extension BackgroundCarrier: TransferCarrier {
  package func submit(_ jobs: [TransferJob]) {
    guard let first = jobs.first else { return }
    send(jobs.map { .submit($0.task) }, of: first.session)
  }

  package func suspend(_ task: TaskID, in session: SessionID) { send([.suspend(task)], of: session) }
  package func resume(_ task: TaskID, in session: SessionID) { send([.resume(task)], of: session) }

  package func cancel(_ task: TaskID, in session: SessionID, keepsPartial: Bool) {
    send([.cancel(task, keepsPartial: keepsPartial)], of: session)
  }

  package func answer(_ task: TaskID, in session: SessionID, _ answer: TransferAnswer) {
    switch answer {
    case .challenge(let answer): send([.answer(task, answer)], of: session)
    case .byDefault: send([.answerByDefault(task)], of: session)
    // Background tasks ask about nothing else.
    case .redirect, .allow, .becomeDownload, .caching, .bodyStream: break
    }
  }

  package func setPriority(_ priority: Double, of task: TaskID, in session: SessionID) {
    send([.setPriority(task, priority)], of: session)
  }

  package func setLimit(_ bytesPerSecond: Int?, of task: TaskID, in session: SessionID) {
    send([.setLimit(task, bytesPerSecond)], of: session)
  }

  package func setBeginDate(_ date: Timestamp?, of task: TaskID, in session: SessionID) {
    send([.setBeginDate(task, date)], of: session)
  }

  package func keep(_ credential: Credential, for space: ProtectionSpace, in session: SessionID) {
    send([.keepCredential(credential, space)], of: session)
  }

  package func forgetCredentials(of session: SessionID, for spaces: [ProtectionSpace]) {
    send([.forgetCredentials(spaces)], of: session)
  }

  /// Which cookies a session has, its answers say as well: only the process that hears those keeps them, and tells.
  func setCookies(_ cookies: [Cookie], of session: SessionID) { send([.setCookies(cookies)], of: session) }
  func removeCookies(_ filter: CookieFilter, of session: SessionID) {
    send([.removeCookies(filter)], of: session)
  }

  package func reset(_ session: SessionID, done: @escaping @Sendable () -> Void) {
    send([.reset], of: session)
    done()
  }

  package func flush(_ session: SessionID, done: @escaping @Sendable () -> Void) {
    send([.flush], of: session)
    done()
  }

  package func forget(_ session: SessionID) {
    send([.forget], of: session)
    release(session)
  }

  /// A body that another process receives can be read when it is whole.
  package func liveBody(of task: TaskID, in session: SessionID) -> LiveBody? { nil }
}

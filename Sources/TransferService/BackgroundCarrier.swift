internal import TransferCore
internal import HTTPCookies
internal import Synchronization
package import TransferEngine
package import TransferModel
package import TransferStore

/// Hands the tasks of background sessions to the process that carries them out: what it is told becomes commands in the caller's
/// change, and the doorbell says that there are some.
package final class BackgroundCarrier: Sendable {
  private let bell: any Bell
  private let sessions = Mutex<Set<SessionID>>([])
  private let needed = Relay<Void>()

  /// - Parameter doorbell: the other process's.
  package init(doorbell: any Bell) { bell = doorbell }

  /// Calls `action` when nobody answers the bell.
  package func onNobody(_ action: @escaping @Sendable () -> Void) { needed.connect(action) }

  /// From here on the session's tasks are carried out there.
  func take(_ session: SessionID) { sessions.withLock { _ = $0.insert(session) } }
  func release(_ session: SessionID) { sessions.withLock { _ = $0.remove(session) } }
  func has(_ session: SessionID) -> Bool { sessions.withLock { $0.contains(session) } }
  package var isNeeded: Bool { sessions.withLock { !$0.isEmpty } }

  /// There is something to look at.
  package func ring() {
    if !bell.ring() { needed.ring() }
  }
}

extension StoreChange {
  /// Has the process that carries a session's tasks out do something.
  fileprivate mutating func command(_ command: WorkerCommand, of session: SessionID) {
    commands.append(command.stored(for: session))
  }
}

extension BackgroundCarrier: TransferCarrier {
  package func submit(_ jobs: [TransferJob], into change: inout StoreChange) {
    for job in jobs.dropLast(Flaw.losesHandovers.isPresent ? 1 : 0) {
      change.command(.submit(job.task), of: job.session)
    }
  }

  package func suspend(_ task: TaskID, in session: SessionID, into change: inout StoreChange) {
    change.command(.suspend(task), of: session)
  }

  package func resume(_ task: TaskID, in session: SessionID, into change: inout StoreChange) {
    if !Flaw.losesResumes.isPresent { change.command(.resume(task), of: session) }
  }

  package func cancel(
    _ task: TaskID, in session: SessionID, keepsPartial: Bool, into change: inout StoreChange
  ) {
    change.command(.cancel(task, keepsPartial: keepsPartial), of: session)
  }

  package func answer(
    _ task: TaskID, in session: SessionID, to question: Int?, _ answer: TransferAnswer,
    into change: inout StoreChange
  ) {
    switch answer {
    case .challenge(let answer): change.command(.answer(task, answer, question: question), of: session)
    case .byDefault: change.command(.answerByDefault(task, question: question), of: session)
    // Background tasks ask about nothing else.
    case .redirect, .allow, .becomeDownload, .caching, .bodyStream: break
    }
  }

  package func setPriority(
    _ priority: Double, of task: TaskID, in session: SessionID, into change: inout StoreChange
  ) {
    change.command(.setPriority(task, priority), of: session)
  }

  package func setLimit(
    _ bytesPerSecond: Int?, of task: TaskID, in session: SessionID, into change: inout StoreChange
  ) {
    change.command(.setLimit(task, bytesPerSecond), of: session)
  }

  package func setBeginDate(
    _ date: Timestamp?, of task: TaskID, in session: SessionID, into change: inout StoreChange
  ) {
    change.command(.setBeginDate(task, date), of: session)
  }

  /// A client keeps a credential in a session.
  func keep(
    _ credential: Credential, for space: ProtectionSpace, in session: SessionID,
    into change: inout StoreChange
  ) {
    change.command(.keepCredential(credential, space), of: session)
  }

  /// Credentials of a session were taken away.
  func forgetCredentials(
    of session: SessionID, for spaces: [ProtectionSpace], into change: inout StoreChange
  ) {
    change.command(.forgetCredentials(spaces), of: session)
  }

  /// Which cookies a session has, its answers say as well: only the process that hears those keeps them, and tells.
  func setCookies(_ cookies: [Cookie], of session: SessionID, into change: inout StoreChange) {
    change.command(.setCookies(cookies), of: session)
  }

  func removeCookies(_ filter: CookieFilter, of session: SessionID, into change: inout StoreChange) {
    change.command(.removeCookies(filter), of: session)
  }

  package func reset(
    _ session: SessionID, into change: inout StoreChange, done: @escaping @Sendable () -> Void
  ) {
    change.command(.reset, of: session)
    done()
  }

  package func flush(
    _ session: SessionID, into change: inout StoreChange, done: @escaping @Sendable () -> Void
  ) {
    change.command(.flush, of: session)
    done()
  }

  package func forget(_ session: SessionID, into change: inout StoreChange) {
    change.command(.forget, of: session)
    release(session)
  }
}

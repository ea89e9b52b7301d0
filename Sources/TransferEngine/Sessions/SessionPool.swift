internal import Curl
internal import EngineAPI
internal import EventLoop
internal import TransferModel

/// The sessions of a transfer loop. Idle sessions lose their connections after a while. Used only on the transfer loop's thread.
final class SessionPool: @unchecked Sendable {
  // Unchecked: all members are used only on the loop's thread.
  private let loop: EventLoop
  private let settings: EngineSettings
  private let post: @Sendable (@escaping @Sendable () -> Void) -> Void
  private var roots: CertificateAuthoritySet
  private var sessions: [SessionID: EngineSession] = [:]
  /// Removed sessions with handshakes that are still being refused.
  private var closing: [EngineSession] = []
  private var idle: IdleSessions
  private var idleTimer: LoopTimer?
  /// Whether more sessions are idle than the limits allow.
  private var hasSurplus = false
  /// Returns whether a job of a session waits for a slot.
  var hasJob: (SessionID) -> Bool = { _ in false }
  /// Delivers the facts so far at once.
  var deliverFacts: () -> Void = {}

  /// - Parameters:
  ///   - roots: The service's own certificate authorities.
  ///   - post: Runs a closure on the loop, after those that were posted before.
  init(
    loop: EventLoop, settings: EngineSettings, roots: CertificateAuthoritySet,
    post: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void
  ) {
    self.loop = loop
    self.settings = settings
    self.post = post
    self.roots = roots
    idle = IdleSessions(limits: settings.idleSessions)
  }

  subscript(id: SessionID) -> EngineSession? { sessions[id] }

  /// Returns a job's session, which the session's first job creates.
  func session(of job: TransferJob) -> EngineSession {
    if let session = sessions[job.session] {
      session.wake(for: job)
      return session
    }
    let session = EngineSession(job: job, roots: roots, settings: settings, post: post)
    sessions[job.session] = session
    return session
  }

  /// Replaces the service's certificate authorities.
  func replaceRoots(_ roots: CertificateAuthoritySet) {
    self.roots = roots
    for session in sessions.values { session.replaceRoots(roots) }
  }

  /// Retires all open connections: later requests do not use them.
  func retireConnections() { for session in sessions.values { session.retireConnections() } }

  /// Removes a session and returns it, so that the caller can end its running transfers.
  func remove(_ id: SessionID) -> EngineSession? {
    idle.remove(id)
    return sessions.removeValue(forKey: id)
  }

  /// Closes the connections of a removed session.
  func close(_ session: EngineSession) {
    session.retireConnections()
    closing.removeAll(where: \.isClosed)
    if !session.isClosed { closing.append(session) }
  }

  func closeAll() {
    for session in sessions.values + closing { session.closeNow() }
    sessions.removeAll()
    closing.removeAll()
    if let idleTimer { loop.cancel(idleTimer) }
  }

  // MARK: Idle sessions

  /// Marks a session as busy, so that it keeps its connections.
  func noteBusy(_ session: SessionID) { idle.remove(session) }

  /// Marks a session as idle if it has no transfer on the wire. It loses its connections after a while, or earlier if too many sessions are
  /// idle. A large session then drops its large members, and its cookies and credentials are unloaded.
  func noteIdle(_ id: SessionID) {
    let session = sessions[id]
    guard session?.handlesInUse ?? 0 == 0 else { return }
    let (descriptors, bytes) = (session?.descriptors ?? 0, unloadableSize(of: id))
    guard descriptors > 0 || bytes > 0 else { return }
    idle.insert(id, descriptors: descriptors, bytes: bytes, at: .now)
    noteSurplus()
  }

  /// Updates the size of a session whose cookies and credentials were loaded or used by a client.
  func noteLoaded(_ id: SessionID) {
    guard idle.contains(id) else { return noteIdle(id) }
    idle.update(id, bytes: unloadableSize(of: id))
    noteSurplus()
  }

  private func unloadableSize(of id: SessionID) -> Int {
    let rest = sessions[id].map { $0.canDropLargeMembers ? $0.size : 0 } ?? 0
    return rest + settings.storages.unloadableSize(of: id)
  }

  private func noteSurplus() {
    if idle.exceedsLimits { hasSurplus = true }
    watchIdle()
  }

  /// Closes the connections of surplus idle sessions. Called at the end of a tick, because a multi handle must not be closed while it
  /// reports a completion. By then, a session whose next request has just begun is no longer idle.
  func closeSurplus() {
    guard hasSurplus else { return }
    hasSurplus = false
    closeOverdue()
  }

  private func closeOverdue() {
    retire(idle.takeOverdue(at: .now))
    watchIdle()
  }

  private func watchIdle() {
    guard idleTimer == nil, let due = idle.nextDeadline else { return }
    idleTimer = loop.schedule(at: due) { [weak self] in
      self?.idleTimer = nil
      self?.closeOverdue()
    }
  }

  /// Closes the connections of all idle sessions, because few descriptors are left.
  func closeIdle() {
    retire(idle.takeAll())
    watchIdle()
  }

  private func retire(_ idle: [SessionID]) {
    for id in idle {
      if let index = sessions.index(forKey: id) {
        sessions.values[index].retireConnections()
        if !isUsed(id) { sessions.values[index].dropLargeMembers() }
      }
      unload(id)
    }
  }

  /// Returns whether a transfer uses the session. Each transfer holds a reference to its session.
  private func isUsed(_ id: SessionID) -> Bool {
    sessions.index(forKey: id).map { !isKnownUniquelyReferenced(&sessions.values[$0]) } ?? false
  }

  /// Unloads the cookies and credentials of a session, unless a task uses them.
  private func unload(_ id: SessionID) {
    let storages = settings.storages
    guard let queue = storages.beginUnloading(id) else { return }
    // This runs after all commands that were posted before. Later commands wait.
    post { [weak self] in
      guard let self else { return }
      let isUsed = isUsed(id) || hasJob(id)
      if !isUsed { deliverFacts() }
      storages.endUnloading(id, queue, isUsed: isUsed)
    }
  }
}

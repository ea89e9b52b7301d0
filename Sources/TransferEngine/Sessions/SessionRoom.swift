internal import Curl
internal import EngineAPI
internal import EventLoop
internal import TransferModel

/// The sessions of a worker, and when those that do nothing give their connections back. On the worker's loop only.
final class SessionRoom: @unchecked Sendable {
  // Unchecked: all of it belongs to the loop's thread.
  private let loop: EventLoop
  private let settings: EngineSettings
  private let post: @Sendable (@escaping @Sendable () -> Void) -> Void
  private var roots: TLSRoots
  private var sessions: [SessionID: WorkerSession] = [:]
  /// Sessions that are over, but for handshakes that are being refused.
  private var closing: [WorkerSession] = []
  private var idle: IdleSessions
  private var idleTimer: LoopTimer?
  /// More sessions are idle than may be.
  private var hasSurplus = false
  /// Whether a job of a session waits for its turn.
  var hasJob: (SessionID) -> Bool = { _ in false }
  /// Delivers what has happened, at once.
  var deliverFacts: () -> Void = {}

  /// - Parameters:
  ///   - roots: the service's own authorities.
  ///   - post: runs a closure on the loop, behind what was posted before.
  init(
    loop: EventLoop, settings: EngineSettings, roots: TLSRoots,
    post: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void
  ) {
    self.loop = loop
    self.settings = settings
    self.post = post
    self.roots = roots
    idle = IdleSessions(limits: settings.idleSessions)
  }

  subscript(id: SessionID) -> WorkerSession? { sessions[id] }

  /// A job's session, which comes to be with its first.
  func session(of job: TransferJob) -> WorkerSession {
    if let session = sessions[job.session] {
      session.wake(for: job)
      return session
    }
    let session = WorkerSession(job: job, roots: roots, settings: settings, post: post)
    sessions[job.session] = session
    return session
  }

  /// The service's authorities are others now.
  func replaceRoots(_ roots: TLSRoots) {
    self.roots = roots
    for session in sessions.values { session.replaceRoots(roots) }
  }

  /// Nothing is sent any more on a connection that is there now.
  func retireConnections() { for session in sessions.values { session.retireConnections() } }

  /// The session is over; returned, so that what still runs for it can be ended.
  func remove(_ id: SessionID) -> WorkerSession? {
    idle.remove(id)
    return sessions.removeValue(forKey: id)
  }

  /// What is left of a session that was removed.
  func close(_ session: WorkerSession) {
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

  /// It has something to do.
  func noteBusy(_ session: SessionID) { idle.remove(session) }

  /// A session without a transfer on the wire gives its connections back after a while, or when too many are idle. A large session then
  /// rests, and its cookies and credentials are unloaded.
  func noteIdle(_ id: SessionID) {
    let session = sessions[id]
    guard session?.handlesInUse ?? 0 == 0 else { return }
    let (descriptors, bytes) = (session?.descriptors ?? 0, unloadableSize(of: id))
    guard descriptors > 0 || bytes > 0 else { return }
    idle.insert(id, descriptors: descriptors, bytes: bytes, at: .now)
    noteSurplus()
  }

  /// A session's cookies and credentials were loaded, or a client has used them.
  func noteLoaded(_ id: SessionID) {
    guard idle.contains(id) else { return noteIdle(id) }
    idle.update(id, bytes: unloadableSize(of: id))
    noteSurplus()
  }

  private func unloadableSize(of id: SessionID) -> Int {
    let rest = sessions[id].map { $0.mayRest ? $0.size : 0 } ?? 0
    return rest + settings.storages.unloadableSize(of: id)
  }

  private func noteSurplus() {
    if idle.areTooMany { hasSurplus = true }
    watchIdle()
  }

  /// Closes the connections of idle sessions where there are too many. At the end of a tick: a multi handle is not closed while it tells of
  /// a completion, and a session whose next request has just begun is not idle.
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

  /// Descriptors have become few.
  func closeIdle() {
    retire(idle.takeAll())
    watchIdle()
  }

  private func retire(_ idle: [SessionID]) {
    for id in idle {
      if let index = sessions.index(forKey: id) {
        sessions.values[index].retireConnections()
        if !isUsed(id) { sessions.values[index].rest() }
      }
      unload(id)
    }
  }

  /// Whether a transfer uses the session: then there is another reference to it.
  private func isUsed(_ id: SessionID) -> Bool {
    sessions.index(forKey: id).map { !isKnownUniquelyReferenced(&sessions.values[$0]) } ?? false
  }

  /// Unloads the cookies and credentials of a session, unless a task uses them.
  private func unload(_ id: SessionID) {
    let storages = settings.storages
    guard let queue = storages.beginUnloading(id) else { return }
    // This runs after all commands that were posted before; later ones wait.
    post { [weak self] in
      guard let self else { return }
      let isUsed = isUsed(id) || hasJob(id)
      if !isUsed { deliverFacts() }
      storages.endUnloading(id, queue, isUsed: isUsed)
    }
  }
}

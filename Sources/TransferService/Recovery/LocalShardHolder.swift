internal import Cluster
internal import Ledger
internal import TransferCore
internal import TransferModel

/// The service's implementation of `ShardHolder`: its sessions, as the cluster uses them.
final class LocalShardHolder: ShardHolder {
  private let sessions: Sessions
  private let recovery: Recovery
  private let endpoints: Endpoints

  init(sessions: Sessions, recovery: Recovery, endpoints: Endpoints) {
    (self.sessions, self.recovery, self.endpoints) = (sessions, recovery, endpoints)
  }

  private var runtime: SessionRuntime { sessions.runtime }

  // MARK: Shards

  func recover(_ shards: ShardSet) async throws(LedgerError) -> Int {
    runtime.recorder.outboxChanged.deliver(.shardsArrive)
    let interrupted = try await recovery.recover(shards)
    // Commit first, so that no client sees an ended task as running.
    await runtime.recorder.waitForCommits()
    recovery.workerReports.stopReading(shards)
    return interrupted
  }

  func didRecover(_ shards: ShardSet) {
    runtime.recorder.outboxChanged.deliver(.shardsArrived)
    // The service that ended the last task of a closed group may have died before it completed the group.
    if !InjectedFault.forgetsClosedGroups.isPresent { runtime.groupCallback.deliver(nil) }
  }

  func catchUp(with shards: ShardSet) async throws(LedgerError) { try await recovery.catchUp(with: shards) }

  var busyShards: ShardSet { runtime.busyShards }

  var isLeaving: Bool { runtime.waiters.isLeaving }

  func releaseWaiters(in shards: ShardSet) {
    for session in sessions.sessions(of: shards) {
      runtime.waiters.releaseAll(of: runtime.read(at: session.id) { $0.unfinishedIDs } ?? [])
    }
  }

  func stopTasks(in shards: ShardSet) {
    for session in sessions.sessions(of: shards) {
      _ = runtime.update(session.id) { machine, step in machine.apply(.prepareHandover, &step) }
    }
  }

  func drop(_ shards: ShardSet) { sessions.forget(shards) }

  func lookForNews() { recovery.workerReports.poll() }

  func receive(_ notification: PeerNotification) async {
    switch notification {
    case .endpoints: await endpoints.refreshNow()
    case .messages(to: let destinations?): runtime.recorder.outboxChanged.deliver(.arrived(destinations))
    case .messages(to: nil): runtime.recorder.outboxChanged.deliver(.isUnknown)
    }
  }

  // MARK: Sessions

  func type(of session: SessionID) -> SessionType? { runtime.read(at: session) { $0.session.type } }

  func session(of task: TaskID) -> SessionID? { runtime.directory[task] }

  func session(named name: BackgroundSessionKey) -> SessionID? { sessions.names.session(of: name) }

  func sharedSession(of tenant: Tenant) -> SessionID { .shared(of: tenant) }

  func newSession() -> SessionID { sessions.identifiers.make(SessionID.self) }

  var now: Timestamp { sessions.identifiers.now() }

  func isNotFound(_ error: any Error) -> Bool {
    switch error as? ServiceError {
    case .sessionNotFound, .taskNotFound, .decisionNotFound: true
    default: false
    }
  }
}

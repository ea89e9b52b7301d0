internal import Cluster
internal import Ledger
internal import TransferCore
internal import TransferModel

/// The sessions that this service holds, as the cluster sees them.
final class LocalShards: ShardHolder {
  private let sessions: Sessions
  private let recovery: Recovery

  init(sessions: Sessions, recovery: Recovery) { (self.sessions, self.recovery) = (sessions, recovery) }

  private var room: MachineRoom { sessions.room }

  // MARK: Shards

  func recover(_ shards: ShardSet) async throws(StoreError) -> Int {
    let interrupted = try await recovery.recover(shards)
    // Commit first, so that no client sees an ended task as running.
    await room.recorder.settleAtLast()
    recovery.news.leave(shards)
    return interrupted
  }

  func didRecover(_ shards: ShardSet) { room.recorder.outboxBell.ring() }

  func catchUp(with shards: ShardSet) async throws(StoreError) { try await recovery.catchUp(with: shards) }

  var busyShards: ShardSet { room.busyShards }

  var isLeaving: Bool { room.waiters.isLeaving }

  func releaseWaiters(in shards: ShardSet) {
    for session in sessions.sessions(of: shards) {
      room.waiters.letGo(of: room.look(at: session.id) { $0.unfinishedIDs } ?? [])
    }
  }

  func stopTasks(in shards: ShardSet) {
    for session in sessions.sessions(of: shards) {
      _ = room.visit(session.id) { machine, step in machine.take(.leave, &step) }
    }
  }

  func forget(_ shards: ShardSet) { sessions.forget(shards) }

  func lookForNews() { recovery.news.look() }

  // MARK: Sessions

  func type(of session: SessionID) -> SessionType? { room.look(at: session) { $0.session.type } }

  func session(of task: TaskID) -> SessionID? { room.directory[task] }

  func session(named name: BackgroundName) -> SessionID? { sessions.names.session(of: name) }

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

internal import BlobStore
internal import EngineAPI
internal import EventLoop
internal import Ledger
internal import TransferCore
internal import TransferModel

/// What goes when nobody needs it any more: bodies of tasks, and what was for a session's life only.
struct Removals: Sendable {
  let engine: any LocalCarrier
  let background: BackgroundCarrier?
  let pool: WorkerPool

  func remove(_ bodies: [BlobKey], of session: TransferSession) {
    guard !bodies.isEmpty else { return }
    let blobs = engine.bodies(of: session.id, session.type)
    pool.submit { blobs.startDeleting(bodies) }
  }

  /// Removes what a session has only for its life, in the commit of its end. Credentials of a background session are read first, and removed
  /// in a commit of their own. If a crash undoes that commit, they are removed when they are read again.
  func retire(
    _ id: SessionID, _ retirement: Turn.Retirement, into change: inout StoreChange, _ recorder: Recorder
  ) {
    if retirement == .ephemeral { change.wipedSession = id }
    engine.storages.whenLoaded(id) { [engine] _ in
      let gone = engine.credentials.entries(of: id)
        .filter { retirement == .ephemeral || $0.credential.persistence != .permanent }.map(\.space)
      guard !gone.isEmpty else { return }
      engine.credentials.remove(gone, in: id)
      if retirement == .background {
        recorder.record(StoreChange(gone.map { CredentialStorage.Change.removed($0) }, of: id))
      }
    }
  }

  /// And what is in memory goes behind it.
  func forget(_ id: SessionID, _ retirement: Turn.Retirement) {
    background?.release(id)
    engine.caches?.forget(id)
    guard retirement == .ephemeral else { return }
    engine.storages.forget(id)
    engine.memoryFiles.wipe(id, on: pool)
  }
}

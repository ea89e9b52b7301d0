internal import BlobStore
internal import EventLoop
internal import TransferCore
internal import TransferEngine
internal import TransferModel
internal import TransferStore

/// What goes when nobody needs it any more: bodies of tasks, and what was for a session's life only.
struct Removals: Sendable {
  let engine: any LocalCarrier
  let background: BackgroundCarrier?
  let pool: WorkerPool

  func remove(_ bodies: [BlobKey], of session: TransferSession) {
    guard !bodies.isEmpty else { return }
    let blobs = engine.bodies(of: session.id, session.type)
    pool.submit { for key in bodies { blobs.delete(key) } }
  }

  /// What was for a session's life only goes with the commit of its end. Credentials that are in the ledger only go when they are loaded.
  func retire(_ id: SessionID, _ retirement: Turn.Retirement, into change: inout StoreChange) {
    let isEphemeral = retirement == .ephemeral
    if retirement == .background, !engine.storages.isLoaded(id) {
      return engine.storages.whenLoaded(id) {}
    }
    let gone = engine.credentials.entries(of: id)
      .filter { isEphemeral || $0.credential.persistence != .permanent }.map(\.space)
    engine.credentials.remove(gone, in: id)
    if retirement == .background { change.deletedCredentials = gone.map { (id, $0) } }
    if isEphemeral { change.wipedSession = id }
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

internal import BlobStore
internal import EngineAPI
internal import EventLoop
internal import Ledger
internal import TransferCore
internal import TransferModel

/// Deletes bodies that are no longer needed, and data that end with their session.
struct SessionDataRemover: Sendable {
  let engine: any TransferExecuting
  let background: WorkerSessionRegistry?
  let pool: ThreadPool

  func remove(_ bodies: [BlobKey], of session: TransferSession) {
    guard !bodies.isEmpty else { return }
    let blobs = engine.bodies(of: session.id, session.type)
    pool.submit { blobs.startDeleting(bodies) }
  }

  /// Deletes the data that end with a session, in the commit of the session's end. Credentials of a background session are read
  /// first and deleted in a separate commit. If a crash undoes that commit, the next read deletes them.
  func retire(
    _ id: SessionID, _ retirement: SessionEffects.SessionCleanup, into change: inout LedgerChange,
    _ recorder: ChangeRecorder
  ) {
    if retirement == .ephemeral { change.sessionOfDeletedBodies = id }
    engine.storages.whenLoaded(id) { [engine] _ in
      let gone = engine.credentials.entries(of: id)
        .filter { retirement == .ephemeral || $0.credential.persistence != .permanent }.map(\.space)
      guard !gone.isEmpty else { return }
      engine.credentials.remove(gone, in: id)
      if retirement == .background {
        recorder.record(LedgerChange(gone.map { CredentialStorage.Change.removed($0) }, of: id))
      }
    }
  }

  /// Releases what the session has in memory. Called when the session's last commit has been queued.
  func dropFromMemory(_ id: SessionID, _ retirement: SessionEffects.SessionCleanup) {
    background?.release(id)
    engine.caches?.forget(id)
    guard retirement == .ephemeral else { return }
    engine.storages.forget(id)
    engine.memoryFiles.removeAll(id, on: pool)
  }
}

internal import BlobStore
internal import EngineAPI
package import Ledger
internal import Logging
internal import Synchronization
internal import Records
internal import TransferCore
internal import TransferModel

/// Starts the worker and takes over from an earlier one.
extension BackgroundWorker {
  /// Rows that one commit writes. The limit bounds how long the service's commits wait.
  private static let rowsAtOnce = 500

  /// Takes over from an earlier worker, then reads the waiting commands. Call it once.
  /// - Parameter afterCrash: whether the earlier worker crashed. A task may have caused that.
  package func start(afterCrash hasCrashed: Bool) async throws(LedgerError) {
    await takeWork()
    if hasCrashed { handle([.wasCrash]) }
    let sessions = try await loadSessions()
    engine.storages.noteStored(try await store.sessionsWithStorage())
    try await takeOver(in: sessions, afterCrash: hasCrashed)
    // Suspensions and cancellations from the time without a worker must precede the first attempts.
    try await readCommands()
    let left = refused.withLock { $0.count }
    handle([.started], of: Page(refused: left))
  }

  /// Takes a new epoch. From this commit on, the ledger refuses writes of earlier workers, so later reads are final.
  private func takeWork() async {
    var change = LedgerChange()
    change.ownership = .becomesWorker
    let effects = change
    await withCheckedContinuation { continuation in
      store.record(effects) { (_: Bool) in continuation.resume() }
    }
  }

  /// Takes over the tasks of an earlier worker. Returns after the commit, so that the count of crashes survives another crash.
  private func takeOver(
    in sessions: [SessionID: TransferSession], afterCrash hasCrashed: Bool
  ) async throws(LedgerError) {
    let found = try await store.work()
    var tasks: [TaskID: TransferTask] = [:]
    for task in try await store.tasks(found.map(\.task)) { tasks[task.id] = task }
    var recovered: [WorkerInput] = []
    var recovery = WorkStateRecovery(blobs, as: BlobStamp(epoch: epoch), logger)
    for stored in found {
      guard let task = tasks[stored.task], let session = sessions[stored.session] else {
        // Unreadable work may be repaired and resumed later.
        if !store.unreadable.hasUnreadableRows(of: stored.task, in: stored.session) {
          recovered.append(.orphaned(stored.task))
        }
        continue
      }
      guard let kept = await recovery.decode(stored) else { continue }
      recovered.append(.recovered(task, in: session, kept, hasCrashed: hasCrashed))
    }
    refused.withLock { for task in recovery.refused { $0.refuse(DocumentSubject(task)) } }
    var rest = recovered[...]
    while !rest.isEmpty {
      let part = Array(rest.prefix(Self.rowsAtOnce))
      rest = rest.dropFirst(Self.rowsAtOnce)
      await withCheckedContinuation { continuation in
        handle(part) { continuation.resume() }
      }
    }
    if !found.isEmpty {
      logger.notice("took over tasks of an earlier worker", metadata: ["tasks": "\(recovered.count)"])
    }
  }
}

/// Recovers the stored work and the partial files of an earlier worker.
private struct WorkStateRecovery {
  let logger: Logger
  private var partials: PartialDownloadRecovery
  /// Tasks whose work a different version of Ferry wrote.
  private(set) var refused: [TaskID] = []

  init(_ blobs: any BlobStore, as stamp: BlobStamp, _ logger: Logger) {
    partials = PartialDownloadRecovery(blobs, as: stamp, logger)
    self.logger = logger
  }

  /// - Returns: `nil` if a different version wrote the work. The row remains, and the task waits for a worker that can read it.
  ///   Starting again might send the request twice.
  mutating func decode(_ stored: StoredWork) async -> WorkState? {
    var kept: WorkState
    do throws(RecordFault) {
      kept = try QueueDocumentCoding.decode(WorkState.self, stored.document)
    } catch {
      refused.append(stored.task)
      logger.error(
        "cannot read the progress of a task; the task waits for a worker that can",
        metadata: ["task": "\(stored.task)", "reason": "\(error)"])
      return nil
    }
    kept.partial = await partial(kept.partial, of: stored.task)
    return kept
  }

  /// Finds the bytes that the task can resume from. The file of another download is returned to its key.
  private mutating func partial(_ point: ResumePoint?, of task: TaskID) async -> ResumePoint? {
    if point?.upload != nil { return point }
    let download = point?.download
    let kept = await partials.recover(task, at: download)
    return download?.source == task ? kept.map { .download($0) } : point
  }
}

extension UnreadableRows {
  /// Whether a task's row, session or work is unreadable.
  func hasUnreadableRows(of task: TaskID, in session: SessionID) -> Bool {
    row(.task, task) != nil || row(.session, session) != nil || row(.work, task) != nil
  }
}

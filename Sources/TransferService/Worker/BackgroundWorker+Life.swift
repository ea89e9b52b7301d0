internal import BlobStore
internal import EngineAPI
package import Ledger
internal import Logging
internal import Synchronization
internal import Records
internal import TransferCore
internal import TransferModel

/// How it begins.
extension BackgroundWorker {
  /// Rows that are written with one commit: the service does not wait for longer than that takes.
  private static let rowsAtOnce = 500

  /// Takes up what an earlier process left, and then what waits. Called once.
  /// - Parameter afterCrash: the earlier process died by its own fault, and perhaps by one of its tasks.
  package func start(afterCrash hasCrashed: Bool) async throws(StoreError) {
    await takeWork()
    if hasCrashed { give([.wasCrash]) }
    let sessions = try await loadSessions()
    engine.storages.noteStored(try await store.sessionsWithStorage())
    try await takeOver(in: sessions, afterCrash: hasCrashed)
    // Who was suspended or cancelled while there was no worker is not begun first.
    try await readCommands()
    let left = refused.withLock { $0.count }
    give([.started], of: Page(refused: left))
  }

  /// Nobody who was the worker before writes anything from here on: what is read is not changed any more.
  private func takeWork() async {
    var change = StoreChange()
    change.ownership = .takesWork
    let turn = change
    await withCheckedContinuation { continuation in
      store.record(turn) { (_: Bool) in continuation.resume() }
    }
  }

  /// That somebody died over a task must be known to whoever comes after the next death: it returns when it is on the disk.
  private func takeOver(
    in sessions: [SessionID: TransferSession], afterCrash hasCrashed: Bool
  ) async throws(StoreError) {
    let found = try await store.work()
    var tasks: [TaskID: TransferTask] = [:]
    for task in try await store.tasks(found.map(\.task)) { tasks[task.id] = task }
    var recovered: [WorkerInput] = []
    var inheritance = Inheritance(blobs, as: BlobStamp(epoch: epoch), logger)
    for stored in found {
      guard let task = tasks[stored.task], let session = sessions[stored.session] else {
        // What cannot be read may be mended, and gone on with.
        if !store.unreadable.hasWork(of: stored.task, in: stored.session) {
          recovered.append(.orphaned(stored.task))
        }
        continue
      }
      guard let kept = await inheritance.take(stored) else { continue }
      recovered.append(.recovered(task, in: session, kept, hasCrashed: hasCrashed))
    }
    refused.withLock { for task in inheritance.refused { $0.refuse(DocumentSubject(task)) } }
    var rest = recovered[...]
    while !rest.isEmpty {
      let part = Array(rest.prefix(Self.rowsAtOnce))
      rest = rest.dropFirst(Self.rowsAtOnce)
      await withCheckedContinuation { continuation in
        give(part) { continuation.resume() }
      }
    }
    if !found.isEmpty { logger.notice("took over", metadata: ["tasks": "\(recovered.count)"]) }
  }
}

/// What an earlier process knew of tasks, and what it left of them on the disk.
private struct Inheritance {
  let logger: Logger
  private var salvage: Salvage
  /// Those whose rows another version wrote.
  private(set) var refused: [TaskID] = []

  init(_ blobs: any BlobStore, as stamp: BlobStamp, _ logger: Logger) {
    salvage = Salvage(blobs, as: stamp, logger)
    self.logger = logger
  }

  /// nil where another version wrote it: the row stays, and the task waits for a process that can read it. To begin it anew might
  /// send it twice.
  mutating func take(_ stored: StoredWork) async -> WorkState? {
    var kept: WorkState
    do throws(RecordFault) {
      kept = try WorkerDocument.decode(WorkState.self, stored.document)
    } catch {
      refused.append(stored.task)
      logger.error(
        "how far a task has come cannot be read: it is kept, and waits until a process starts that can",
        metadata: ["task": "\(stored.task)", "reason": "\(error)"])
      return nil
    }
    kept.partial = await partial(kept.partial, of: stored.task)
    return kept
  }

  /// What is on the disk of what a task was to go on from. The bytes of another download are given back.
  private mutating func partial(_ point: ResumePoint?, of task: TaskID) async -> ResumePoint? {
    if point?.upload != nil { return point }
    let download = point?.download
    let kept = await salvage.takeOver(task, at: download)
    return download?.source == task ? kept.map { .download($0) } : point
  }
}

extension UnreadableRows {
  /// Whether what is known of a task and its work cannot be read.
  func hasWork(of task: TaskID, in session: SessionID) -> Bool {
    row(.task, task) != nil || row(.session, session) != nil || row(.work, task) != nil
  }
}

internal import Logging
internal import Synchronization
internal import TransferCore
internal import TransferEngine
internal import TransferModel
package import TransferStore

/// How it begins.
extension BackgroundWorker {
  /// Rows that are written with one commit: the service does not wait for longer than that takes.
  private static let rowsAtOnce = 500

  /// Takes up what an earlier process left, and then what waits. Called once.
  /// - Parameter afterCrash: the earlier process died by its own fault, and perhaps by one of its tasks.
  package func start(afterCrash hasCrashed: Bool) async throws(StoreError) {
    if hasCrashed { give([.wasCrash]) }
    try await loadSessions()
    for stored in try await store.credentials() where session(stored.session) != nil {
      engine.credentials.set(stored.credential, for: stored.space, in: stored.session)
    }
    for (session, cookies) in Dictionary(grouping: try await store.cookies(), by: \.session)
    where self.session(session) != nil {
      engine.cookies.restore(cookies.map(\.cookie), of: session, now: now())
    }
    try await takeOver(afterCrash: hasCrashed)
    // Who was suspended or cancelled while there was no worker is not begun first.
    try await readCommands()
    let left = refused.withLock { $0.count }
    give([.started], of: Page(refused: left))
  }

  /// That somebody died over a task must be known to whoever comes after the next death: it returns when it is on the disk.
  private func takeOver(afterCrash hasCrashed: Bool) async throws(StoreError) {
    let found = Flaw.takesNothingOver.isPresent ? [] : try await store.work()
    var tasks: [TaskID: TransferTask] = [:]
    for task in try await store.tasks(found.map(\.task)) { tasks[task.id] = task }
    var recovered: [WorkerInput] = []
    for stored in found {
      guard let task = tasks[stored.task], session(stored.session) != nil else {
        // What cannot be read may be mended, and gone on with.
        if !isUnreadable(stored.task, stored.session) { recovered.append(.orphaned(stored.task)) }
        continue
      }
      guard var kept = read(stored) else { continue }
      kept.partial = salvage(kept.partial, of: stored.task)
      recovered.append(.recovered(task, kept, hasCrashed: hasCrashed))
    }
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

  func isUnreadable(_ task: TaskID, _ session: SessionID) -> Bool {
    store.unreadable.row(.task, task) != nil || store.unreadable.row(.session, session) != nil
      || store.unreadable.row(.work, task) != nil
  }

  /// nil where another version wrote it: the row stays, and the task waits for a process that can read it. To begin it anew might
  /// send it twice.
  private func read(_ stored: StoredWork) -> WorkState? {
    do throws(WorkerDocument.Refusal) {
      return try WorkerDocument.decode(WorkState.self, stored.document)
    } catch {
      refused.withLock { $0.refuse(DocumentSubject(stored.task)) }
      logger.error(
        "how far a task has come cannot be read: it is kept, and waits until a process starts that can",
        metadata: ["task": "\(stored.task)", "reason": "\(error)"])
      return nil
    }
  }

  /// What is on the disk of what a task was to go on from. The bytes of another download are given back.
  private func salvage(_ point: ResumePoint?, of task: TaskID) -> ResumePoint? {
    guard var download = point?.download else { return point }
    guard download.source == task else {
      bodies.returnClaim(of: download, from: task)
      return point
    }
    download.partial.offset = bodies.salvage(task)
    return download.partial.offset > 0 ? .download(download) : nil
  }
}

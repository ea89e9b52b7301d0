internal import BlobStore
internal import EngineAPI
internal import HTTPCookies
internal import Ledger
internal import Logging
internal import Synchronization
internal import TransferCore
internal import TransferModel

/// Handles the service's commands.
extension BackgroundWorker {
  func handle(_ rows: [QueueRow<StoredCommand>]) async throws(LedgerError) {
    let found = rows.map {
      UndecodableDocuments.Decoded<BackgroundCommand>(
        .init(number: $0.number, document: $0.content.document, session: $0.content.session))
    }
    let tasks: [TaskID: TransferTask]
    let large: [SessionID: TransferSession]
    do throws(LedgerError) {
      var new: [WorkerInput] = []
      for id in Set(rows.map(\.content.session)).sorted() where session(id) == nil {
        guard let row = try await readableSession(id, in: store), row.type == .background else { continue }
        new.append(.session(row))
      }
      if !new.isEmpty { handle(new) }
      (tasks, large) = try await submitted(found)
    } catch {
      logger.error("cannot read tasks from the database", metadata: ["error": "\(error)"])
      throw error
    }
    let incomplete = tasks.values.filter { !mayBegin($0, with: large[$0.sessionID]) }
    for task in incomplete {
      logger.error(
        "cannot read the session of a task; the task waits for a worker that can",
        metadata: ["task": "\(task.id)", "session": "\(task.sessionID)"])
    }
    // The reads above have found all unreadable rows. Their documents stay in the queue, because the rows may be repaired.
    let (commands, left) = refused.withLock {
      for task in incomplete { $0.refuse(DocumentSubject(task.id)) }
      return ($0.read(found, where: store.unreadable.isDamaged), $0.count)
    }
    logger.note(commands, "commands")
    var page = Page(taken: commands.taken, refused: commands.kept > 0 ? left : nil)
    var inputs: [WorkerInput] = []
    for (row, command) in commands.values {
      guard let session = row.session else { continue }
      switch command {
      case .submit(let id):
        // The task's rows may be repaired later and the task submitted then.
        guard let task = tasks[id], !store.unreadable.hasUnreadableRows(of: id, in: session) else { continue }
        inputs.append(.submit(task, in: large[session]))
      case .task(let task, let command): inputs.append(.command(command, task))
      case .session(let command):
        // Keeps the order: a session's command runs before the tasks that were submitted after it.
        inputs.append(.sessionCommand(page.asides.count))
        page.asides.append((command, session))
        if case .forget = command { inputs.append(.releaseSession(session)) }
      }
    }
    handle(inputs, of: page)
  }

  /// Reads the tasks to be submitted, and their large sessions. Each page reads the sessions again, because a session's last
  /// attempt may end at any time and leave only an outline. Unreadable sessions are left out.
  private func submitted(
    _ found: [UndecodableDocuments.Decoded<BackgroundCommand>]
  ) async throws(LedgerError) -> (tasks: [TaskID: TransferTask], large: [SessionID: TransferSession]) {
    let ids = found.compactMap { if case .success(.submit(let task)) = $0.value { task } else { nil } }
    let tasks = try await store.tasks(ids)
    var large: [SessionID: TransferSession] = [:]
    for id in Set(tasks.lazy.filter { $0.state != .completed }.map(\.sessionID))
    where session(id)?.isLarge == true {
      large[id] = try await readableSession(id, in: store)
    }
    return (Dictionary(tasks.map { ($0.id, $0) }, uniquingKeysWith: { $1 }), large)
  }

  /// Reads the background sessions, gives them to the machine, and returns them.
  @discardableResult
  func loadSessions() async throws(LedgerError) -> [SessionID: TransferSession] {
    let sessions = try await store.sessions().map(\.session).filter { $0.type == .background }
    handle(sessions.map { .session($0) })
    return Dictionary(sessions.map { ($0.id, $0) }, uniquingKeysWith: { $1 })
  }

  /// Stores changed cookies, for the next worker and for the service.
  func cookiesChanged(_ session: SessionID, _ changes: [CookieJar.Change]) {
    var change = LedgerChange()
    change.cookies = changes.map { (session, $0) }
    change.report(.changedCookies(session, changes))
    record(change)
  }
}

/// - Returns: the session, or `nil` if it does not exist or its row is unreadable.
private func readableSession(_ id: SessionID, in store: any Ledger) async throws(LedgerError)
  -> TransferSession?
{
  do throws(LedgerError) {
    return try await store.session(id)
  } catch {
    guard case .unreadable = error else { throw error }
    return nil
  }
}

internal import BlobStore
internal import EngineAPI
internal import HTTPCookies
internal import Ledger
internal import Logging
internal import Synchronization
internal import TransferCore
internal import TransferModel

/// What the service asks for, and what the engine is asked for.
extension BackgroundWorker {
  func take(_ rows: [Queued<StoredCommand>]) async throws(StoreError) {
    let found = rows.map {
      RefusedDocuments.Decoded<BackgroundCommand>(
        .init(number: $0.number, document: $0.content.document, session: $0.content.session))
    }
    let tasks: [TaskID: TransferTask]
    let large: [SessionID: TransferSession]
    do throws(StoreError) {
      var new: [WorkerInput] = []
      for id in Set(rows.map(\.content.session)).sorted() where session(id) == nil {
        guard let row = try await readableSession(id, in: store), row.type == .background else { continue }
        new.append(.session(row))
      }
      if !new.isEmpty { give(new) }
      (tasks, large) = try await submitted(found)
    } catch {
      logger.error("tasks cannot be read", metadata: ["error": "\(error)"])
      throw error
    }
    let incomplete = tasks.values.filter { !mayBegin($0, with: large[$0.sessionID]) }
    for task in incomplete {
      logger.error(
        "the session of a task cannot be read: the task waits until a process starts that can read it",
        metadata: ["task": "\(task.id)", "session": "\(task.sessionID)"])
    }
    // By now it is known which of them cannot be read: they may be mended, and handed over then.
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
        // What cannot be read may be mended, and handed over then.
        guard let task = tasks[id], !store.unreadable.hasWork(of: id, in: session) else { continue }
        inputs.append(.submit(task, in: large[session]))
      case .task(let task, let command): inputs.append(.command(command, task))
      case .session(let command):
        // In its place: what concerns a session is done before a task of it is begun that comes later.
        inputs.append(.aside(page.asides.count))
        page.asides.append((command, session))
        if case .forget = command { inputs.append(.forget(session)) }
      }
    }
    give(inputs, of: page)
  }

  /// The tasks that are handed over, and their large sessions, read from their rows. Each page reads them again, because a session's last
  /// attempt may end at any time and leave the machine only an outline. Unreadable sessions are left out.
  private func submitted(
    _ found: [RefusedDocuments.Decoded<BackgroundCommand>]
  ) async throws(StoreError) -> (tasks: [TaskID: TransferTask], large: [SessionID: TransferSession]) {
    let ids = found.compactMap { if case .success(.submit(let task)) = $0.value { task } else { nil } }
    let tasks = try await store.tasks(ids)
    var large: [SessionID: TransferSession] = [:]
    for id in Set(tasks.lazy.filter { $0.state != .completed }.map(\.sessionID))
    where session(id)?.isLarge == true {
      large[id] = try await readableSession(id, in: store)
    }
    return (Dictionary(tasks.map { ($0.id, $0) }, uniquingKeysWith: { $1 }), large)
  }

  /// Gives the machine the background sessions, and returns them.
  @discardableResult
  func loadSessions() async throws(StoreError) -> [SessionID: TransferSession] {
    let sessions = try await store.sessions().map(\.session).filter { $0.type == .background }
    give(sessions.map { .session($0) })
    return Dictionary(sessions.map { ($0.id, $0) }, uniquingKeysWith: { $1 })
  }

  /// The cookies of a session are others now: for the next of these processes, and for the service.
  func cookiesChanged(_ session: SessionID, _ changes: [CookieJar.Change]) {
    var change = StoreChange()
    change.cookies = changes.map { (session, $0) }
    change.tell(.changedCookies(session, changes))
    record(change)
  }
}

/// A session; nil if there is none, or its row is unreadable.
private func readableSession(_ id: SessionID, in store: any Ledger) async throws(StoreError)
  -> TransferSession?
{
  do throws(StoreError) {
    return try await store.session(id)
  } catch {
    guard case .unreadable = error else { throw error }
    return nil
  }
}
